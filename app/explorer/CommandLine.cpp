// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/CommandLine.h"

#include <QUrl>
#include <QUrlQuery>

namespace modulelens::explorer {

namespace {

constexpr int kMostPixels = 8192;

void takeVersion(CommandLine& line, const QString& text) {
    const QString scheme = QStringLiteral("modulelens:");
    if (!text.startsWith(scheme)) {
        line.version = text;
        return;
    }
    const qsizetype question = text.indexOf(u'?');
    const QString verb = text.mid(scheme.size(), question < 0 ? -1 : question - scheme.size());
    const QUrlQuery query(question < 0 ? QString() : text.mid(question + 1));
    line.version = query.queryItemValue(QStringLiteral("version"), QUrl::FullyDecoded);
    line.view = query.queryItemValue(QStringLiteral("view"), QUrl::FullyDecoded);
    if (verb != QStringLiteral("open") || line.version.isEmpty()) {
        line.error = QStringLiteral("The link '%1' does not name a version. A link looks like modulelens:open?version=ADDRESS.")
                         .arg(text);
    }
}

} // namespace

CommandLine parseCommandLine(const QStringList& arguments) {
    CommandLine line;
    for (qsizetype i = 0; i < arguments.size() && line.error.isEmpty(); ++i) {
        const QString& argument = arguments[i];
        const auto value = [&](QString& target) {
            if (i + 1 < arguments.size()) {
                target = arguments[++i];
            } else {
                line.error = QStringLiteral("%1 needs a value.").arg(argument);
            }
        };
        if (argument == QStringLiteral("--registry")) {
            value(line.registry);
        } else if (argument == QStringLiteral("--theme")) {
            value(line.theme);
            if (line.error.isEmpty() && line.theme != QStringLiteral("light") && line.theme != QStringLiteral("dark") &&
                line.theme != QStringLiteral("system")) {
                line.error = QStringLiteral("--theme is light, dark or system, not '%1'.").arg(line.theme);
            }
        } else if (argument == QStringLiteral("--screenshots")) {
            value(line.screenshots);
        } else if (argument == QStringLiteral("--size")) {
            QString text;
            value(text);
            const QStringList parts = text.split(u'x');
            line.size = parts.size() == 2 ? QSize(parts[0].toInt(), parts[1].toInt()) : QSize();
            if (line.error.isEmpty() && (line.size.width() < 1 || line.size.height() < 1 || line.size.width() > kMostPixels ||
                                         line.size.height() > kMostPixels)) {
                line.error = QStringLiteral("--size is WIDTHxHEIGHT in pixels, such as 1600x1000, not '%1'.").arg(text);
            }
        } else if (argument == QStringLiteral("--exit-after-first-paint")) {
            line.exitAfterFirstPaint = true;
        } else if (argument == QStringLiteral("--help") || argument == QStringLiteral("-h")) {
            line.helpWanted = true;
        } else if (argument.startsWith(u'-')) {
            line.error = QStringLiteral("Unknown option '%1'. --help lists the options.").arg(argument);
        } else if (!line.version.isEmpty()) {
            line.error = QStringLiteral("Only one version can be named; '%1' is one too many.").arg(argument);
        } else {
            takeVersion(line, argument);
        }
    }
    return line;
}

QString commandLineHelp() {
    return QStringLiteral(
        "usage: modulelens-explorer [--registry DIR] [--theme light|dark|system] [VERSION]\n\n"
        "VERSION is an address (MODEL::MODULE@v3), an id, or a link (modulelens:open?version=...).\n"
        "--screenshots DIR renders the pages into DIR, 1600x1000 or --size WIDTHxHEIGHT, and ends.\n"
        "--exit-after-first-paint ends when the window has been drawn once.\n");
}

} // namespace modulelens::explorer
