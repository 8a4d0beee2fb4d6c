// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/VersionInfo.h"

#include "backend/registry/Registry.h"
#include "backend/registry/VersionAddress.h"
#include "models/Format.h"

namespace modulelens::models {

namespace {

QStringList listOf(const std::vector<std::string>& texts) {
    QStringList list;
    for (const std::string& text : texts) {
        list.append(QString::fromStdString(text));
    }
    return list;
}

} // namespace

QString VersionInfo::address() const {
    return QString::fromStdString(registry::formatVersionAddress(model.toStdString(), module.toStdString(), number));
}

QString VersionInfo::title() const {
    return module.isEmpty() ? shortName() : model + QStringLiteral("::") + shortName();
}

QString VersionInfo::shortName() const {
    const QString name = module.isEmpty() ? model : module;
    return name + QStringLiteral("@v") + QString::number(number);
}

QString VersionInfo::moduleTitle() const {
    return module.isEmpty() ? QStringLiteral("(whole model)") : module;
}

VersionInfo versionInfoOf(const registry::VersionSummary& summary) {
    VersionInfo info;
    info.id = QString::fromStdString(summary.id);
    info.model = QString::fromStdString(summary.model);
    info.module = QString::fromStdString(summary.module);
    info.className = bareClassName(summary.className);
    info.qualifiedClassName = QString::fromStdString(summary.className);
    info.number = summary.number;
    info.tags = listOf(summary.tags);
    info.aliases = listOf(summary.aliases);
    info.verdict = QString::fromStdString(summary.verdict);
    info.exact = summary.exact;
    info.hasProgram = !summary.program.empty();
    info.noProgramReason = QString::fromStdString(summary.noProgramReason);
    info.created = QString::fromStdString(summary.created);
    info.device = QString::fromStdString(summary.device);
    info.torchVersion = QString::fromStdString(summary.torchVersion);
    info.parameterBytes = summary.parameterBytes;
    info.callCount = summary.callCount;
    info.latencyNs = summary.latencyNs;
    return info;
}

VerdictWords verdictWords(const QString& verdict, bool exact) {
    using Kind = VerdictWords::Kind;
    if (verdict == QStringLiteral("pass")) {
        return exact ? VerdictWords{Kind::Good, QStringLiteral("Validated, bit-exact")}
                     : VerdictWords{Kind::Good, QStringLiteral("Validated, within tolerance")};
    }
    if (verdict == QStringLiteral("fail")) {
        return {Kind::Bad, QStringLiteral("Drifts")};
    }
    if (verdict == QStringLiteral("not_comparable")) {
        return {Kind::Warning, QStringLiteral("Not comparable")};
    }
    if (verdict == QStringLiteral("no_program")) {
        return {Kind::Neutral, QStringLiteral("No program")};
    }
    return {Kind::None, QStringLiteral("Not validated")};
}

} // namespace modulelens::models
