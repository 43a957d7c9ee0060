"""Documents as people send them, made by hand: small PDFs, Word files, workbooks, and ones that are made to harm."""

import zipfile
from io import BytesIO
from typing import Any

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(*pages: str, title: str = "") -> bytes:
    """A PDF with one line of text on each page; "" for a page without text."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else "0 0 m"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    if title:
        objects.append(f"<< /Title ({title}) >>")
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    info = f" /Info {len(objects)} 0 R" if title else ""
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R{info} >>\n".encode()
    return bytes(out + f"startxref\n{start}\n%%EOF\n".encode())


def archive(**files: bytes | str) -> bytes:
    """A zip file of XML files; `__` in a name is a slash."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name.replace("__", "/") + ".xml", data)
    return out.getvalue()


def word(body: str, head: str = "") -> bytes:
    """A Word document around the XML of its body."""
    document = (
        f'<?xml version="1.0"?>{head}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
    )
    return archive(word__document=document)


def paragraph(text: str, style: str = "") -> str:
    own = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{own}<w:r><w:t>{text}</w:t></w:r></w:p>"


def workbook(hidden: tuple[str, ...] = (), **sheets: list[list[Any]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        if name in hidden:
            sheet.sheet_state = "hidden"
    out = BytesIO()
    book.save(out)
    return out.getvalue()
