// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/CommandText.h"

#include <QRegularExpression>

namespace modulelens::explorer {

QString shellWord(const QString& word) {
    static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_@%+=:,./-]+$"));
    if (plain.match(word).hasMatch()) {
        return word;
    }
    return u'\'' + QString(word).replace(u'\'', QStringLiteral("'\\''")) + u'\'';
}

QString commandText(const QString& pattern, const QString& address, const QString& device) {
    const QString version = QStringLiteral("%v");
    if (pattern.isEmpty() || (pattern.contains(version) && address.isEmpty())) {
        return {};
    }
    const bool isCpu = device.isEmpty() || device == QStringLiteral("cpu");
    QString text = QStringLiteral("modulelens ") + pattern;
    // The device first: an address may hold any characters.
    text.replace(QStringLiteral("%d"), isCpu ? QString() : QStringLiteral(" --device ") + shellWord(device));
    return text.replace(version, shellWord(address));
}

} // namespace modulelens::explorer
