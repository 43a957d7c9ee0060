"""A scene as a page that looks like its platform on a phone or in a narrow window."""

import html

from tests.pictures.bubbles import Bubble, Scene

SHARED = """
*{box-sizing:border-box} body{margin:0;font:15px/1.45 system-ui,"Noto Sans","Noto Sans CJK SC",sans-serif}
main{width:VAR_WIDTHpx;padding:12px} header{padding:10px 14px;font-weight:600}
.pre-wrap{white-space:pre-wrap;overflow-wrap:anywhere} .line{min-height:1.2em;overflow-wrap:anywhere}
pre{font:12.5px/1.4 ui-monospace,"DejaVu Sans Mono","Noto Sans Mono CJK SC",monospace;margin:4px 0;padding:8px;
 border-radius:6px;VAR_PRE;overflow-wrap:anywhere}
code{font:13px ui-monospace,"DejaVu Sans Mono",monospace;padding:1px 4px;border-radius:4px}
blockquote{margin:2px 0;padding:2px 8px;border-left:3px solid} h1,h2,h3{margin:8px 0 2px;line-height:1.25}
h1{font-size:22px} h2{font-size:19px} h3{font-size:16px} .photo{max-width:100%;border-radius:8px;display:block}
.file{padding:8px 10px;border-radius:8px;margin-top:4px} .file span,.small,.note{font-size:12px;opacity:.65}
.item{display:flex;gap:8px} .item span:first-child{min-width:10px}
.rows{margin-top:4px} .row{display:flex;gap:4px;margin-top:4px;flex-wrap:wrap}
.key{padding:6px 12px;border-radius:6px;text-align:center} table{border-collapse:collapse;margin:6px 0;width:100%}
td,th{border:1px solid #8885;padding:3px 8px;font-size:13px}
"""
LOOKS = {
    "telegram": (
        420,
        "white-space:pre-wrap",
        """
body{background:#d4e2c6} header{background:#517da2;color:#fff}
.msg{max-width:92%;width:fit-content;margin:6px 0;padding:7px 10px;border-radius:12px;background:#fff}
.me{margin-left:auto;background:#e3fdd0} a{color:#2f7cb8} pre{background:#eef1f4}
code{background:none;color:#a33} pre code{color:inherit;padding:0} blockquote{border-color:#5a9ed6;background:#eef6fc}
.key{flex:1;background:#0000002e;color:#fff;min-width:28%} .file{background:#e8f0f7} .draft{opacity:.75}
.rows{max-width:92%}
""",
    ),
    "slack": (
        620,
        "white-space:pre-wrap",
        """
body{background:#fff;color:#1d1c1d} header{border-bottom:1px solid #ddd}
.msg{margin:2px 0;padding:6px 8px 6px 52px;position:relative}
.msg:before{content:"🐝";position:absolute;left:8px;top:8px;width:34px;height:34px;border-radius:6px;
 background:#eee;text-align:center;line-height:34px} .me:before{content:"🙂"}
a{color:#1264a3} pre{background:#f6f6f6;border:1px solid #ddd}
code{background:#f6f6f6;border:1px solid #ddd;color:#c01343}
blockquote{border-color:#ddd} .key{border:1px solid #bbb;font-weight:600;font-size:13px}
.primary{background:#007a5a;color:#fff} .danger{background:#e01e5a;color:#fff} .file{border:1px solid #ddd}
.card{border:1px solid #ddd;border-radius:8px;padding:4px 10px;margin:3px 0;font-size:13px}
""",
    ),
    "discord": (
        620,
        "white-space:pre-wrap",
        """
body{background:#313338;color:#dbdee1} header{border-bottom:1px solid #222}
.msg{margin:2px 0;padding:6px 8px 6px 56px;position:relative}
.msg:before{content:"🐝";position:absolute;left:8px;top:8px;width:38px;height:38px;border-radius:50%;
 background:#5865f2;text-align:center;line-height:38px} .me:before{content:"🙂";background:#777}
a{color:#00a8fc} pre{background:#2b2d31;border:1px solid #1e1f22} code{background:#2b2d31}
blockquote{border-color:#4e5058} .key{background:#4e5058;color:#fff;font-size:14px}
.primary{background:#5865f2} .danger{background:#da373c} .file{background:#2b2d31}
.embed{background:#2b2d31;border-left:4px solid;border-radius:4px;padding:8px 12px;margin-top:4px;max-width:520px}
""",
    ),
}


def page(scene: Scene) -> str:
    """A whole HTML page."""
    width, pre, style = LOOKS[scene.platform]
    shared = SHARED.replace("VAR_WIDTH", str(width)).replace("VAR_PRE", pre)
    messages = "".join(map(_message, scene.bubbles))
    return (
        '<!doctype html><html><head><meta charset="utf-8">'
        f"<title>{html.escape(scene.title)}</title><style>{shared}{style}</style></head><body>"
        f"<header>{html.escape(scene.title)}</header><main>{messages}</main></body></html>"
    )


def _message(bubble: Bubble) -> str:
    files = "".join(file.html() for file in bubble.files)
    photo_first = any(f.media_type.startswith("image/") for f in bubble.files)
    body = files + bubble.body if photo_first and bubble.body else bubble.body + files
    note = f'<span class="note">{html.escape(bubble.note)}</span>' if bubble.note else ""
    rows = "".join(
        f'<div class="row">{"".join(_key(k.label, k.style) for k in row)}</div>'
        for row in bubble.rows
    )
    kind = "msg" if bubble.by_bot else "msg me"
    kind += " draft" if bubble.note == "draft" else ""
    return f'<div class="{kind}">{body}{note}</div><div class="rows">{rows}</div>'


def _key(label: str, style: str) -> str:
    return f'<div class="key {style}">{html.escape(label)}</div>'
