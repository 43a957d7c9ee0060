"""Whether a message is about a person's holdings as a whole (PFI-1, PFI-3, PFI-4). Pure; looks at their own words only.

The words are those of the source design, which alone match too much: 配置 is also what one does to a server, and a fund
has 持仓 as well. So each word has contexts in which it means something else; one word that keeps its meaning is enough,
and so is a mention of "my" positions. Names of symbols (PDD Holdings) are taken out first.
"""

import re

from agent_core import symbols

_NAME = "§"  # stands for a name that was taken out

# One's own positions, without a doubt.
_MINE = re.compile(
    r"我[^，。！？,.!?\n]{0,8}(?:持仓|组合|核心仓|卫星仓|仓位|配比|资产配置|重仓|持股|哪一?只|哪几只)|我的仓"
    r"|\bmy (?:(?:current|whole|entire|overall|stock|crypto|present|own) )*"
    r"(?:portfolio|holdings?|positions?|allocations?|stocks|shares|coins|book)\b"
    r"|\bwhich (?:one )?of my\b|\bwhat (?:do|am) i (?:currently |now )?(?:own|hold|holding)\b",
    re.IGNORECASE,
)
# Contexts in which nothing of this is about securities, and what in a text about "mine" is none either.
_TECHNICAL = (
    r"环境变量|服务器|路由器|文件|参数|端口|数据库|代理|域名|网关|防火墙|密钥|令牌|账号|插件|脚本|代码|编辑器|编译|电脑|手机|笔记本"
    r"|显卡|内存|硬盘|系统|软件|机器人|网络|接口|车型|高配|低配"
    r"|\b(?:nginx|docker|python|git|env|yaml|json|webhook|token|api|linux|ssh|vpn|ide|npm|pip|k8s|redis|mysql)\b"
)
_ANIMALS = r"哪一?只(?:猫|狗|鸟|手|脚|眼|耳|鞋|袜|鸡|鸭|羊|笔|兔|熊|动物|宠物|球队)"
# "Which one" of the whole market is no question about one's own.
_MARKET = r"市场上|市场里|全市场|两市|大盘|板块|A股|港股|美股|今天|昨天|最近|涨停|跌停|涨幅|跌幅|榜|龙头|推荐|新股"
_OTHERS = (
    r"(?:机构|北向|外资|公募|私募|基金|主力|社保|险资|国家队|巴菲特|伯克希尔|股东|散户|空头|多头|期货|合约|庄家)[^，。！？\n]{0,6}持仓"
    r"|持仓(?:量|手续费|限额)"
)
_THEIRS = (
    r"\b(?:buffett|institution(?:al)?|hedge funds?|fund|insiders?|etf|their|its|his|her)(?:['’]s)? (?:\w+ )?"
    rf"(?:holdings|portfolios?)\b|{_NAME} ?['’]s (?:\w+ )?(?:holdings|portfolios?)\b"
)
_OTHER_PORTFOLIO = (
    r"\bportfolio (?:website|site|page|piece|career)\b"
    r"|\b(?:design|art|artist|photo|photography|developer|web|writing) portfolio\b"
)
_OTHER_ALLOCATION = (
    r"\b(?:memory|disk|ram|heap|ip|stack|register|resource|seat|port|static|dynamic) allocations?\b"
    r"|\ballocations? of (?:memory|disk|ram|heap|ip|resources)\b"
)
# The words of PFI-1 and the English ones of PFI-4, each with what it must not stand in.
_WORDS = tuple(
    (re.compile(word, re.IGNORECASE), re.compile(other, re.IGNORECASE))
    for word, other in (
        (r"核心仓|卫星仓|我的仓|仓位|配比|\bposition sizing\b|\bwhich of my\b", r"(?!)"),
        ("持仓", _OTHERS),
        ("组合", r"组合(?:键|拳|框|数学|数|逻辑|爱好|函数|成|起来)|排列组合|乐队|女团|男团|偶像"),
        ("配置", _TECHNICAL),
        (r"哪一?只", f"{_ANIMALS}|{_MARKET}"),
        (r"\bportfolios?\b", f"{_OTHER_PORTFOLIO}|{_THEIRS}"),
        (r"\bholdings\b", _THEIRS),
        (r"\ballocations?\b", _OTHER_ALLOCATION),
    )
)
_NEVER_MINE = re.compile(f"{_OTHER_PORTFOLIO}|{_OTHER_ALLOCATION}|{_ANIMALS}", re.IGNORECASE)


def portfolio_level(text: str) -> bool:
    """Whether the overview of all holdings belongs to this message; that there are any is the caller's matter."""
    words = _without_names(text)
    if _MINE.search(words) and not _NEVER_MINE.search(words):
        return True
    return any(word.search(words) and not other.search(words) for word, other in _WORDS)


def _without_names(text: str) -> str:
    """The text with a mark in place of each name of a symbol."""
    parts, end = [], 0
    for mention in symbols.find(text):
        parts.append(text[end : mention.start])
        end = mention.end
    return f" {_NAME}".join([*parts, text[end:]])
