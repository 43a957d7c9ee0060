"""Answers with labels: every number that is not between ⟦ and ⟧ stands in the source or states no fact.

Written by hand, in both languages, around the forms in which models write numbers: rounded, grouped, scaled, as a
percentage or a fraction, in tables and lists, beside dates, codes and names with numbers in them. Invented ones are of
the kinds that models make: a slip of a digit, of a scale, a value from nowhere, arithmetic of their own.
"""

from dataclasses import dataclass

GOOG = (
    '{"symbol":"GOOG","name":"Google","source":"bundled","as_of":"2012-12-31","currency":"USD",'
    '"first_close":665.41,"last_close":707.38,"change_pct":6.31,"high":{"value":774.380,"date":"2012-10-05"},'
    '"low":{"value":556.52,"date":"2012-06-14"},"average_volume":5203490,"trend":{"strength":0.97},'
    '"indicators":{"sma20":703.3,"sma50":686.80,"rsi14":55.22,"macd":6.19,"atr14":12.52},'
    '"drawdown":{"max_pct":-16.34},"volatility_pct_annual":23.02,"support":[700.72,669.7]}'
)
MOUTAI = (
    '{"symbol":"600519.SH","name":"贵州茅台","market_cap":1876500000000,"revenue":150560000000,"net_profit":74734000000,'
    '"pe":25.11,"pb":8.72,"dividend_yield":0.0177,"close":1493.8,"change_pct":-1.26,"turnover":5230000000,'
    '"volume_hands":34812,"roe":0.3419,"gross_margin":0.9187,"shares":1256197800}'
)
BOOK = (
    '{"cash":48250.75,"positions":[{"symbol":"AAPL","quantity":120,"avg_cost":151.2,"last":189.95,"pnl":4650.0,'
    '"weight":0.3214},{"symbol":"MSFT","quantity":35,"avg_cost":301.4,"last":378.61,"pnl":2702.35,"weight":0.1868}],'
    '"total":70950.1,"risk":{"var95_1d":1284.6,"sharpe":1.42,"beta":1.08,"max_drawdown":-0.1123}}'
)
BACKTEST = (
    '{"strategy":"sma_cross","fast":20,"slow":60,"start":"2015-01-05","end":"2019-12-31","trades":47,"win_rate":0.5532,'
    '"cagr":0.0874,"total_return":0.5203,"max_drawdown":-0.2217,"sharpe":0.71,"fees":312.4,"initial":100000,'
    '"final":152030.55}'
)
MACRO = "CPI rose 3.1% in November; the policy rate is 5.25%-5.50%. Brent trades at $77.04, up 25 bps of yield to 4.2%."


@dataclass(frozen=True, slots=True)
class Labelled:
    language: str
    source: str
    answer: str


EN = [
    (GOOG, "GOOG closed 2012 at 707.38, up 6.31% over the year."),
    (GOOG, "Google gained about 6.3% in 2012 and peaked at $774.38 on October 5."),
    (GOOG, "It fell to 556.52 on 2012-06-14 and recovered to ⟦717.38⟧ by December 31, 2012."),
    (
        GOOG,
        "1. Trend: up, strength 0.97.\n2. RSI(14) is 55.2, SMA50 is 686.8.\n3. Support at 700.72 and 669.7.",
    ),
    (GOOG, "The maximum drawdown was 16.34% (roughly 16%), annual volatility 23%."),
    (GOOG, "On average 5.2 million shares changed hands; that is 5,203,490 a day."),
    (GOOG, "Average volume was ⟦52 million⟧ shares."),
    (
        GOOG,
        "The 50-day average stands at 686.80, the 20-day at 703.3; over 3 months the MACD was 6.19.",
    ),
    (
        GOOG,
        "| metric | value |\n| --- | --- |\n| last close | 707.38 |\n| ATR14 | 12.52 |\n| P/E | ⟦18.4⟧ |",
    ),
    (GOOG, "Fair value is ⟦$820⟧, which leaves ⟦15.9%⟧ upside."),
    (GOOG, "Between Q1 2012 and Q4 2012 the stock gained $⟦41.97⟧ a share."),
    (GOOG, "The S&P 500 and the Nasdaq-100 are not in the data; GOOG rose 6.31%."),
    (GOOG, "Source: bundled. See https://example.com/2012/10/05/goog-774 for 2 more notes [1]."),
    (GOOG, "Volatility is 0.2302 as a fraction, or 23.02 percent."),
    (GOOG, "The price is near 700, the nearest support ⟦690⟧."),
    (GOOG, "In 52 weeks it ranged from 556.52 to 774.38, i.e. 556.52-774.38."),
    (BOOK, "You hold 120 AAPL at an average of $151.20, now $189.95: a gain of $4,650."),
    (BOOK, "Cash is $48,250.75, or about $48.3k; the total is 70,950.10."),
    (BOOK, "AAPL is 32.1% of the book, MSFT 18.7%; together ⟦50.8%⟧."),
    (BOOK, "One-day 95% VaR is $1,284.60; beta 1.08, Sharpe 1.42."),
    (BOOK, "The worst drawdown was -11.23%."),
    (BOOK, "Sell ⟦60⟧ AAPL shares and keep 35 MSFT."),
    (BOOK, "MSFT gained $2,702 (2702.35), AAPL ⟦$4,560⟧."),
    (BOOK, "Step 1: trim AAPL. Step 2: hold MSFT. Both are among the top 10 names."),
    (
        BACKTEST,
        "The 20/60 crossover made 47 trades from 2015-01-05 to 2019-12-31 and won 55.3% of them.",
    ),
    (BACKTEST, "CAGR 8.7%, total return 52%, max drawdown 22.2%, Sharpe 0.71."),
    (BACKTEST, "100,000 grew to 152,030.55; fees were $312.40."),
    (BACKTEST, "It returned ⟦62.03%⟧ in five years with a win rate of ⟦53.5%⟧."),
    (BACKTEST, "100k became 152k over 2015-2019, a five-year test."),
    (BACKTEST, "Buy and hold would have made ⟦71%⟧ in the same time."),
    (MACRO, "CPI was 3.1% in Nov 2023; the Fed funds range is 5.25-5.50%."),
    (MACRO, "Brent is at $77, yields rose 0.25 percentage points to 4.2%."),
    (MACRO, "Brent may reach ⟦$85⟧ by 15 March; confidence 7/10."),
    (MACRO, "Core CPI was ⟦4.0%⟧."),
    (GOOG, "My confidence is 8/10 and there are 3 reasons: trend, support, volume."),
    (GOOG, "The GPT-5 summary and the 10-K for FY2012 agree: 707.38."),
    (GOOG, "At 16:00 on Monday it stood at 707.38; the 2nd test of 700.72 held."),
    (GOOG, "It is up 2x since the low."),
    (GOOG, "A stop ⟦5%⟧ below 707.38 would be ⟦672.01⟧."),
    (BOOK, "With $48,250 in cash you could buy ⟦254⟧ shares of AAPL."),
]
ZH = [
    (GOOG, "谷歌2012年收于707.38美元，全年上涨6.31%。"),
    (GOOG, "2012年10月5日触及最高价774.38，6月14日最低556.52。"),
    (GOOG, "最大回撤约16.3%，年化波动率23%，趋势强度0.97。"),
    (GOOG, "日均成交量约520万股（5,203,490股）。"),
    (GOOG, "日均成交量约⟦520亿⟧股。"),
    (GOOG, "1、20日均线703.3；2、50日均线686.8；3、RSI14为55.22。"),
    (GOOG, "支撑位700.72与669.7，阻力位⟦730⟧。"),
    (GOOG, "目标价⟦820⟧美元，上涨空间⟦15.9%⟧。"),
    (GOOG, "近3个月MACD为6.19，近52周区间为556.52至774.38。"),
    (GOOG, "沪深300与标普500不在数据内；谷歌第4季度仍高于700.72。"),
    (GOOG, "收盘价为７０７．３８，涨幅６．３１％。"),
    (GOOG, "若跌破669.7，下一支撑为⟦640点⟧。"),
    (MOUTAI, "贵州茅台（600519）收于1493.8元，跌1.26%。"),
    (MOUTAI, "总市值约1.88万亿元，营收1505.6亿元，净利润747.34亿元。"),
    (MOUTAI, "市值约⟦1.88亿⟧元。"),
    (MOUTAI, "市盈率25.1倍，市净率8.72，股息率1.77%。"),
    (MOUTAI, "毛利率91.87%，净资产收益率34.19%。"),
    (MOUTAI, "成交额52.3亿元，成交34812手，总股本12.56亿股。"),
    (MOUTAI, "净利率为⟦49.6%⟧，低于毛利率91.87%。"),
    (MOUTAI, "市盈率从⟦30⟧倍降至25.11倍。"),
    (MOUTAI, "600519.SH 与 000858.SZ 同属白酒板块，前10名之一。"),
    (MOUTAI, "2023年三季报：营收1,505.6亿，同比增长⟦18.5%⟧。"),
    (BOOK, "您持有苹果120股，成本151.2美元，现价189.95，盈利4650美元。"),
    (BOOK, "现金4.83万美元，总资产7.1万美元（70950.1）。"),
    (BOOK, "苹果占比32.14%，微软占比18.68%，合计⟦50.82%⟧。"),
    (BOOK, "95%置信度下单日VaR为1284.6美元，夏普1.42，贝塔1.08。"),
    (BOOK, "最大回撤11.23%，建议减持苹果⟦60股⟧。"),
    (BOOK, "第1步：减仓；第2步：观察5个交易日。"),
    (BOOK, "微软盈利2702.35美元，苹果盈利⟦4560⟧美元。"),
    (BACKTEST, "2015年1月5日至2019年12月31日共47笔交易，胜率55.32%。"),
    (BACKTEST, "年化8.74%，总收益52%，最大回撤22.17%，夏普0.71。"),
    (BACKTEST, "10万元增至15.2万元，手续费312.4元。"),
    (BACKTEST, "同期买入持有收益约⟦71%⟧。"),
    (BACKTEST, "MA20上穿MA60时买入，五年总收益⟦62.03%⟧。"),
    (MACRO, "11月CPI上涨3.1%，政策利率区间5.25%—5.50%。"),
    (MACRO, "布伦特原油77.04美元，收益率上升25个基点至4.2%。"),
    (MACRO, "布油或升至⟦85美元⟧，把握7/10。"),
    (MACRO, "核心CPI为⟦4.0%⟧。"),
    (GOOG, "较年内高点回落⟦8.7%⟧。"),
    (GOOG, "截至2012-12-31，共有3点理由：趋势、支撑、成交量。"),
]  # fmt: skip
CASES = [Labelled("en", *case) for case in EN] + [Labelled("zh", *case) for case in ZH]
