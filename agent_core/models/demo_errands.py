"""The errands of the demo planner: by which words each tool is asked for, and where its arguments come from.

A new tool is one entry here, and one in `demo_told_table` for what is said of its result. The first pattern that fits
decides, so what is exact stands before what is general.
"""

import re

from agent_core.models import demo_lookups as look
from agent_core.models import demo_studies as study
from agent_core.models import demo_trades as trade
from agent_core.models.demo_amounts import AMOUNT, COUNTED
from agent_core.models.demo_ask import Errand, Want

_TREND = frozenset({Want.TREND})
_OVERVIEW = frozenset({Want.OVERVIEW})
_SHARE = (
    "Which share do you mean? Name it or give its code.",
    "您指的是哪只股票？请写名称或代码。",
)


def _words(en: str, zh: str) -> re.Pattern[str]:
    # ASCII: a Latin word also ends where a Han character begins.
    return re.compile(rf"\b(?:{en})\b|{zh}", re.IGNORECASE | re.ASCII)


ERRANDS: tuple[Errand, ...] = (
    Errand("web_fetch", look.URL, look.page, preset="solo"),
    Errand(
        "remember",
        re.compile(
            r"^\s*(?:please\s+)?(?:remember|note)\b|^\s*(?:请|帮我)?(?:记住|记下)", re.IGNORECASE
        ),
        look.note,
        ("What am I to note?", "要我记下什么？"),
        acts=True,
    ),
    Errand(
        "remind",
        _words(r"remind(?:\s+me|ers?)", r"(?:后|天|点|\d[:：]\d\d|-\d\d)[，,\s]*提醒我|定时提醒"),
        look.reminder,
        (
            "When, and of what? For example “remind me in two hours to look at the close”.",
            "什么时候提醒，提醒什么？",
        ),
        preset="trading-desk",
        acts=True,
    ),
    Errand(
        "alert",
        _words(
            r"alerts?|notify\s+me|tell\s+me\s+(?:when|if|once)|let\s+me\s+know\s+(?:when|if)",
            "提醒|通知我|告诉我一声",
        ),
        look.alarm,
        ("Of which share, and at which price?", "哪只股票，到什么价位？"),
        preset="trading-desk",
        acts=True,
    ),
    Errand(
        "load_skill",
        _words(
            r"(?:use|load|run|apply)\s+(?:the\s+)?[a-z][\w-]*\s+skill|skill\s+[a-z][\w-]*",
            r"(?:用|使用|加载|运行)\s*[a-z][\w-]*\s*(?:这个)?技能",
        ),
        look.skill,
    ),
    Errand(
        "cancel_order",
        _words(r"cancel\s+(?:my\s+|the\s+)?order", "(?:撤销|取消)\\s*(?:订单|委托)|撤单"),
        trade.order_number,
        ("Which order? Its number stands in the portfolio.", "哪一笔订单？编号可在持仓中查看。"),
        preset="trading-plan",
        acts=True,
    ),
    Errand(
        "check_background_tasks",
        _words(
            r"(?:background|running)\s+tasks?|my\s+tasks|(?:cancel|stop|result\s+of|check|status\s+of)\s+(?:the\s+)?"
            r"(?:background\s+)?tasks?|tasks?\s+(?:list|status|are\s+running)",
            "后台任务|(?:取消|停止|查看|检查|我的)\\s*任务|任务\\s*(?:列表|进度|状态|[0-9a-z]{4,}\\s*的?结果)",
        ),
        look.tasks,
        agent="research",
        acts=True,
    ),
    Errand(
        "update_portfolio",
        _words(
            rf"I(?:'ve|\s+have)?\s+(?:just\s+)?(?:bought|sold|own|hold)\s+{AMOUNT}|"
            rf"I\s+have\s+{AMOUNT}\s+(?:shares|[A-Z]{{2,5}})|(?:set|my|have)\b.{{0,40}}\bcash\b.{{0,20}}\d|\d.{{0,15}}\b(?:in|of)\s+cash|"
            r"(?:remove|delete|drop)\b.{0,30}\b(?:portfolio|holdings|positions|book)|"
            r"(?:add|enter|book)\b.{0,40}\b(?:portfolio|holdings|positions|book)",
            rf"[买卖][入出进]?了|我(?:持有|有)\s*{COUNTED}\s*股|现金[^？?]{{0,8}}\d|"
            r"(?:删除|移除).{0,12}(?:持仓|组合)|从.{0,8}(?:持仓|组合).{0,6}(?:删除|移除)|(?:加入|录入).{0,8}(?:持仓|组合)",
        ),
        trade.record,
        (
            "Which share, how many, and at which price? For example “I bought ten GOOG at three hundred”, in digits.",
            "哪只股票，多少股，什么价格？请用数字写明。",
        ),
        preset="trading-desk",
        acts=True,
    ),
    Errand(
        "place_order",
        re.compile(
            rf"^(?!.*\b(?:should|shall|could)\s+I\b)(?=.*\b(?:buy|sell)\s+(?:me\s+)?{AMOUNT}(?!\s*(?:%|days?\b|years?\b))|"
            rf".*\b(?:buy|sell)\s+(?:all|half|some)\b)|"
            rf"^(?!.*(?:该不该|要不要|能不能|值得|吗))(?=.*(?:买|卖)[^\d？?。]{{0,14}}{COUNTED}\s*股|.*(?:买|卖)[入出]?(?:全部|所有|一些))|"
            r"\b(?:place|submit)\b.{0,20}\border\b|下单",
            re.IGNORECASE | re.DOTALL,
        ),
        trade.order,
        (
            "Buy or sell what, and how many? One share in each order.",
            "买卖哪只股票，多少股？每次一只。",
        ),
        preset="trading-plan",
        acts=True,
    ),
    Errand(
        "run_backtest",
        _words(
            r"back-?\s?test\w*|(?:test|try)\s+(?:a|an|the)\s+.{0,40}\b(?:strategy|cross|rule)",
            "回测",
        ),
        study.backtest,
        _SHARE,
        agent="research",
        on_symbols=True,
    ),
    Errand(
        "position_size",
        _words(
            r"position\s+siz\w+|how\s+many\s+shares|size\s+(?:of\s+)?(?:a|the|my)\s+position",
            "仓位|买多少股|多少股合适",
        ),
        study.size,
        (
            "I need the value of the account and a stop price; the share sets entry and lots.",
            "请写明账户资金和止损价；股票名称用于取入场价和每手股数。",
        ),
        preset="trading-desk",
    ),
    Errand(
        "generate_strategy_decision",
        _words(
            r"(?:strategy|trading)\s+decision|decide\s+(?:on|about)",
            "策略(?:决策|判断|建议)|操作策略|交易决策|[/!]strategy",
        ),
        study.decision,
        _SHARE,
        agent="trading",
        on_symbols=True,
    ),
    Errand(
        "generate_ai_report",
        _words(r"reports?", "报告|研报"),
        study.report,
        _SHARE,
        agent="analysis",
        on_symbols=True,
    ),
    Errand(
        "screen_stocks",
        _words(
            r"screen(?:s|er|ing)?|rank(?:ing)?\s+(?:the\s+|all\s+)?(?:stocks|shares|symbols|universe)|"
            r"(?:which|what|find|list)\s+(?:of\s+)?(?:the\s+|all\s+)?(?:stocks?|shares?|symbols?|names?|ones)\b.{0,30}\b"
            r"(?:above|below|over|under|rose|fell|gained|lost|rsi|volatil\w+|calm\w*|near|overbought|oversold|volume)",
            "选股|筛选|(?:哪些|哪几|哪只|什么)(?:只)?(?:股票|个股).{0,20}(?:高于|低于|站上|跌破|超过|上方|下方|之上|之下|涨幅|跌幅|波动|超买|超卖|接近|放量)",
        ),
        study.screen,
        agent="research",
    ),
    Errand(
        "correlation",
        _words(r"correlat\w+", "相关(?:性|系数|度)"),
        study.several,
        ("Which shares? At least two.", "哪几只股票？至少两只。"),
        preset="trading-desk",
        on_symbols=True,
    ),
    Errand(
        "portfolio",
        _words(
            r"portfolios?|my\s+(?:holdings|positions|book|cash|shares|stocks|trades|orders|account)|"
            r"what\s+do\s+I\s+(?:hold|own)|open\s+orders",
            "持仓|组合|我的(?:股票|现金|账户|仓位|订单|交易)|[/!]checkup\\s*$",
        ),
        study.holdings,
        agent="analysis",
    ),
    Errand(
        "market_calendar",
        _words(
            r"(?:market|exchange|stock\s+exchange|nyse|nasdaq|wall\s+street)s?\b.{0,40}\b(?:open|close[sd]?|holidays?|hours)|"
            r"(?:trading|market)\s+(?:days?|hours|calendar|holidays?)|(?:open|close[sd]?)\b.{0,30}\b(?:market|exchange)|"
            r"when\s+does\b.{0,30}\b(?:open|close)",
            "开市|休市|开盘(?:时间|吗)|收盘时间|交易日|交易时间|假期安排",
        ),
        study.market,
        preset="trading-desk",
    ),
    Errand(
        "risk_metrics",
        _words(
            r"beta|var|value\s+at\s+risk|expected\s+shortfall|risk\s+(?:metrics|figures)",
            "贝塔|在险价值|风险(?:指标|度量|值)",
        ),
        study.risk,
        _SHARE,
        instead=_TREND,
        noted=True,
        on_symbols=True,
    ),
    Errand(
        "risk_metrics",
        _words(r"volatil\w+", "波动率"),
        study.risk,
        _SHARE,
        instead=_TREND,
        on_symbols=True,
    ),
    Errand(
        "wyckoff_diagnose",
        _words(r"wyckoff", "威科夫|维科夫"),
        study.one_share,
        _SHARE,
        instead=_TREND,
        on_symbols=True,
    ),
    Errand(
        "market_regime",
        _words(
            r"(?:market\s+)?regime|bull(?:ish)?\s+or\s+(?:a\s+)?bear(?:ish)?|(?:bull|bear)\s+market",
            "牛市|熊市|市场状态",
        ),
        study.nothing,
        instead=_OVERVIEW,
        noted=True,
    ),
    Errand(
        "indicators",
        _words(
            r"rsi|macd|atr|adx|obv|vwap|stoch\w*|donchian|bollinger|boll|[se]ma[\s-]?\d*|indicators?|moving\s+averages?|"
            r"\d+[\s-]day\s+averages?",
            "布林|均线|指标",
        ),
        study.indicators,
        _SHARE,
        instead=_TREND,
        on_symbols=True,
    ),
    Errand(
        "filings",
        _words(r"filings?|10-[kq]|8-k|annual\s+report", "公告|年报|申报文件"),
        study.one_share,
        _SHARE,
        on_symbols=True,
    ),
    Errand(
        "fundamentals",
        _words(
            r"fundamentals?|revenues?|earnings|profit\s+margins?|balance\s+sheet|cash\s+flow",
            "基本面|营收|财报|净利|利润率",
        ),
        study.one_share,
        _SHARE,
        on_symbols=True,
    ),
    Errand(
        "get_stock_profiles",
        _words(r"profiles?|what\s+do\s+you\s+know\s+(?:about|of)", "档案|公司资料"),
        study.shares,
        _SHARE,
        on_symbols=True,
    ),
    Errand(
        "write_file",
        _words(
            r"(?:write|save)\s+[\"“'].+?[\"”']\s+(?:to|as|into|in)",
            '把[“「"].+?[”」"](?:写入|写到|保存[到为])',
        ),
        look.written,
        acts=True,
    ),
    Errand(
        "exec_command",
        _words(r"(?:run|execute)\s+(?:the\s+)?command", "(?:运行|执行)命令"),
        look.command,
        acts=True,
    ),
    Errand(
        "read_file",
        _words(
            r"(?:list|show)\s+(?:me\s+)?(?:my\s+|the\s+)?(?:files|workspace)|(?:read|open|show)\s+(?:the\s+)?(?:file\s+)?"
            r"[\w-]+(?:/[\w.-]+)*\.(?:md|txt|csv|json|py)",
            r"工作区|(?:读取?|打开|查看)\s*[\w-]+(?:/[\w.-]+)*\.(?:md|txt|csv|json|py)",
        ),
        look.file,
    ),
    Errand(
        "read_document",
        _words(
            r"(?:read|open|summari[sz]e|look\s+(?:at|into)|what(?:'s|\s+is|\s+does))\b.{0,30}\b"
            r"(?:document|file|pdf|attachment|spreadsheet)",
            "(?:读|看|打开|总结|概括).{0,10}(?:文件|文档|附件|表格)|(?:文件|文档|附件|表格).{0,8}(?:内容|写了什么|说了什么)",
        ),
        look.document,
        preset="trading-desk",
    ),
    Errand(
        "query_history",
        _words(
            r"(?:what|when)\s+did\s+(?:we|I)\s+(?:say|talk|discuss|decide|ask)\w*|(?:last|previous|earlier)\s+"
            r"(?:conversation|chat|session)s?|we\s+(?:talked|spoke|discussed)",
            "上次|(?:之前|以前)(?:聊|说|讨论|问)|聊过|说过|历史(?:对话|聊天|记录)",
        ),
        look.past,
        agent="research",
    ),
    Errand(
        "web_search",
        _words(
            r"search\s+(?:the\s+)?(?:web|internet|online)|on\s+the\s+(?:web|internet)|news",
            "上网|网上|新闻|搜索网页",
        ),
        look.searched,
        ("What am I to look for?", "要搜索什么？"),
    ),
    Errand(
        "restore_archive",
        _words(
            r"(?:read\s+back|restore|bring\s+back)\s+(?:r\d|b[0-9a-f]{8})\S*",
            "(?:取回|读回|恢复)\\s*(?:r\\d|b[0-9a-f]{8})",
        ),
        look.kept,
    ),
    Errand(
        "compact",
        _words(
            r"compact\s+(?:this|the|our)\b.{0,20}|condense\s+(?:this|the|our)\s+(?:conversation|chat)",
            "(?:压缩|精简)(?:这个|本次)?(?:对话|上下文)",
        ),
        look.condensed,
        acts=True,
    ),
    Errand(
        "load_context",
        _words(r"explain|(?:trading|sizing)\s+rules?", "解释|什么是|交易规则"),
        look.topic,
        ("What am I to explain?", "要解释什么？"),
    ),
)


def find_errand(text: str) -> Errand | None:
    """The errand that a text asks for, or None."""
    return next((errand for errand in ERRANDS if errand.pattern.search(text)), None)
