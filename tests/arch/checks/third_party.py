# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Which library a system header belongs to, as a key of the layer table."""

from __future__ import annotations

import re
from pathlib import Path

_PATTERNS = {
    "openssl": r"openssl/",
    "xxhash": r"xxhash\.h|xxh3\.h",
    "minizip": r"minizip/|zlib\.h",
    "nlohmann_json": r"nlohmann/",
    "sqlitecpp": r"SQLiteCpp/|sqlite3\.h",
    "roaring": r"roaring/",
    "curl": r"curl/",
    "torch": r"(torch|ATen|c10|caffe2)/",
    "qcustomplot": r"qcustomplot\.h",
}
_QT_MODULES = {
    "QtCore": "qtcore",
    "QtGui": "qtgui",
    "QtWidgets": "qtwidgets",
    "QtSvg": "qtsvg",
    "QtTest": "qttest",
    "QtPrintSupport": "qtprintsupport",
    "QtSvgWidgets": "qtsvgwidgets",
    "QtNetwork": "qtnetwork",
    "QtSql": "qtsql",
    "QtConcurrent": "qtconcurrent",
    "QtOpenGL": "qtopengl",
    "QtOpenGLWidgets": "qtopenglwidgets",
    "QtDBus": "qtdbus",
    "QtXml": "qtxml",
}
_PLATFORM = re.compile(
    r"(sys|linux|arpa|netinet)/|(cpuid|dirent|dlfcn|errno|fcntl|limits|poll|pthread|pwd|sched|semaphore|"
    r"signal|spawn|stdint|stdlib|string|termios|time|unistd|immintrin|xmmintrin|pmmintrin|malloc|execinfo)\.h$"
)
# Names without their contents, made to be shown where the library itself may not be.
_FORWARD_DECLARATIONS = {"nlohmann/json_fwd.hpp", "QtContainerFwd", "QtGlobal"}


def is_forward_declaration(header: str) -> bool:
    return header in _FORWARD_DECLARATIONS


def owner(header: str, qt_headers: Path) -> str | None:
    """The key of the library, "" for the C++ standard library and the platform, None when nobody owns the header."""
    for key, pattern in _PATTERNS.items():
        if re.match(pattern, header):
            return key
    if header.startswith("Q") or header.startswith("q"):
        module = header.split("/")[0]
        if module in _QT_MODULES and "/" in header:
            return _QT_MODULES[module]
        for folder, key in _QT_MODULES.items():
            if header == folder or (qt_headers / folder / header).exists():
                return key
        return None
    if _PLATFORM.match(header) or re.fullmatch(r"[a-z_0-9]+", header):
        return ""
    return None
