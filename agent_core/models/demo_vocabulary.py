"""The words by which the demo planner knows what is asked, in English and Chinese."""

import re


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _words(en: str, zh: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{en})\b|{zh}", re.IGNORECASE)


NO_CHART = _words(
    r"(?:no|without)\s+(?:a\s+|any\s+)?(?:charts?|graphs?|pictures?)|"
    r"(?:don'?t|do\s+not)\s+(?:draw|plot|show)[^.!?]{0,40}?(?:chart|graph|picture)",
    r"(?:不要|不用|不需要|无需|别画|不画)(?:走势图|图表|图片|图)",
)
CHART = _words(
    r"charts?|graphs?|plot(?:ted)?|draw|pictures?|candles?(?:ticks?)?|k-?lines?",
    r"走势图|趋势图|K线图?|图表|图片|图形|画图|[张幅]图|图",
)
BOTH = _words(
    r"analy[sz]e[ds]?|analysis|analyses|diagnose|outlook|review|tell\s+me\s+(?:more\s+)?about|"
    r"look\s+at|opinion\s+(?:on|of)|think\s+(?:of|about)",
    r"分析|诊断|研究|点评|解读|看看|看一下|看一看|聊聊",
)
HISTORY = _words(
    r"how\s+(?:did|has|have)|perform(?:s|ed|ance)?|prices?|histor(?:y|ical)|quotes?|returns?|"
    r"compare[ds]?|comparison|versus|vs|better|worse|worth|clos(?:e|ed|ing)|"
    r"gain(?:s|ed)?|los(?:s|t|e)|rise|rose|fall|fell|went\s+(?:up|down)",
    r"表现|历史|行情|价格|股价|涨|跌|收益|回报|对比|比较|相比|多少钱|收盘|哪个好|哪只好",
)
TREND = _words(
    r"trend(?:s|ing)?|direction|momentum|levels?|supports?|resistances?|risk(?:s|y)?|volatil\w+|"
    r"drawdowns?|rsi|macd|indicators?|technicals?|moving\s+averages?|bollinger|atr|sma|"
    r"overbought|oversold",
    r"趋势|走势|支撑|压力|阻力|风险|波动|回撤|技术面|指标|均线|动量|关键位|点位|布林|超买|超卖|方向",
)
CASUAL = _words(
    r"how\s+(?:is|are|was|were|about)|how'?s|what\s+about|doing|show(?:\s+me)?",
    r"怎么样|怎样|如何|咋样|情况|呢",
)
OVERVIEW = _words(
    r"overview|the\s+markets?|market\s+(?:today|summary|status|now)|stock\s+market|"
    r"(?:which|what|list|all)\s+(?:the\s+)?(?:symbols?|stocks?|data|prices?|shares)",
    r"大盘|市场概[况览]|行情概[况览]|市场(?:整体|总体|现在|今天|最近|行情|表现|怎么样|如何)|概览|总览|股市|"
    r"(?:有|支持)(?:哪些|什么)(?:股票|代码|标的|数据)",
)
SEARCH = _words(
    r"search(?:\s+for)?|find|look\s+up|tickers?(?:\s+(?:of|for))?|(?:symbols?|codes?)\s+(?:of|for)",
    r"搜索|搜一下|搜搜|查找|股票代码|代码",
)
ADVICE = _words(
    r"should\s+i|buy|sell|recommend\w*|invest(?:ing)?",
    r"该不该|能不能买|能买吗|可以买|值得买|买入|卖出|该买|该卖|推荐|投资建议|买吗|卖吗",
)
HELP = _words(
    r"help|what\s+(?:can|do)\s+you(?:\s+do)?|who\s+are\s+you|how\s+are\s+you|hello|hi|hey|"
    r"good\s+(?:morning|evening|afternoon)",
    r"你好|您好|帮助|帮帮我|能做什么|会做什么|能干什么|会什么|你是谁|什么功能|嗨|早上好|晚上好",
)
THANKS = _words(r"thanks?|thank\s+you|thx|bye|goodbye", r"谢谢|多谢|感谢|再见")
COMPARE = _words(
    r"compare[ds]?|comparison|versus|vs|better\s+than|worse\s+than",
    r"对比|比较|相比|比起|跟|哪个好",
)
PRONOUN = _words(r"it|its|it's|they|their|this|that|same", r"它|这只|这个|该股|那|同样")

TICKER = re.compile(
    r"(?<![A-Za-z0-9.$])\$?(?:[A-Z]{2,5}(?:[.-][A-Z]{1,2})?|\d{6}(?:\.(?:SH|SZ|SS|BJ))?|\d{4,5}\.HK)"
    r"(?![A-Za-z0-9])"
)
NO_TICKERS = _set(
    "US USA UK EU HK CN USD EUR GBP CNY HKD JPY RSI MACD SMA EMA ATR KDJ YTD PNG ETF IPO CEO CFO PE EPS "
    "GDP CPI AI FX OK AND OR THE NOT NO IN OF TO HOW DID DO IS IT VS ME MY HI PM AM JSON CSV PDF API FAQ "
    "TV UTC"
)

NAME = re.compile(r"(?<![\w.])[A-Z][a-z]+(?:\s+(?:[A-Z][a-z]+|&))*")
NAMED = re.compile(
    r"\b(?:how\s+(?:did|has|have|is|are|was|were|about)|what\s+about|of|for|about|analy[sz]e|compare|chart|"
    r"plot|draw|review)\s+([a-z][\w&'-]{2,})",
    re.IGNORECASE,
)
NO_NAMES = _set(
    "how what when where which who why show please compare analyze analyse tell give and or but the is "
    "are was were did do does can could would should will has have had chart charts plot draw graph "
    "search find look list hello hi hey thanks thank help any all both each every more most some only "
    "just best price prices history trend trends risk risks level levels support resistance market "
    "markets overview in on from since between for of to at by as after before until january february "
    "march april may june july august september october november december jan feb mar apr jun jul aug sep "
    "sept oct nov dec monday tuesday wednesday thursday friday saturday sunday today now then also ok "
    "okay yes no not stock stocks share shares symbol symbols numbers data i my me you your it its their "
    "them they this that these those with about last past next previous recent year years month months "
    "week weeks day days quarter half first second things doing sma ema rsi macd atr bollinger chinese "
    "english demo good morning evening afternoon let same period performance return returns direction "
    "momentum volatility drawdown technical indicators moving averages"
)

SEARCH_NOISE = re.compile(
    r"\b(?:the|a|an|what|is|whats|what's|of|for|please|me|stocks?|compan(?:y|ies)|named|called|by|name|can|you)\b"
    r"|的|是|什么|请|帮我|一下|多少|[?？。.!！,，:：\"“”「」]",
    re.IGNORECASE,
)
HAN_NOISE = re.compile(
    r"[^\u3400-\u9fff]+|请问|帮我|给我|告诉我|麻烦|一下|怎么|什么|哪里|哪些|多少|多久|我想|想要|知道|看到|显示|生成|"
    r"最近|过去|近期|去年|今年|前年|上半年|下半年|季度|星期|以来|至今|之前|之后|期间|时候|数字|"
    r"只要|现在|目前|股票|公司|股份|这只|那只|同样|还有|继续|比如|另外|它们|"
    r"[的了吗呢吧啊是在从到至和与及或跟同年月日号周天个季上下第一二两三四五六七八九十几半来查把请我你它他这那也再还都大小"
    r"高低多少好坏近内里中位条张幅画给要有没不会能可以做说讲么样长短些又就对比哪想]"
)
