// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <QMetaType>
#include <QString>
#include <QStringList>

#include <cstdint>
#include <optional>

namespace modulelens::registry {
struct VersionSummary;
}

namespace modulelens::models {

/// A version as the window shows it: the registry's summary in Qt's types. A plain value.
struct VersionInfo {
    QString id;
    QString model;
    QString module;
    QString className;                        ///< Without its package.
    QString qualifiedClassName;
    int number = 0;
    QStringList tags;
    QStringList aliases;
    QString verdict;                          ///< "pass", "fail", "not_comparable", "no_program" or empty.
    bool exact = false;
    bool hasProgram = false;
    QString noProgramReason;
    QString created;                          ///< UTC text.
    QString device;
    QString torchVersion;
    std::int64_t parameterBytes = 0;
    int callCount = 0;
    std::optional<std::int64_t> latencyNs;

    /// "model::module@v3".
    [[nodiscard]] QString address() const;
    /// "model::module@v3", and "model@v3" for the whole model: for people, while commands take the address.
    [[nodiscard]] QString title() const;
    /// "module@v3", and "model@v3" for the whole model.
    [[nodiscard]] QString shortName() const;
    /// The module's name, or "(whole model)" for the top.
    [[nodiscard]] QString moduleTitle() const;
};

[[nodiscard]] VersionInfo versionInfoOf(const registry::VersionSummary& summary);

/// Words, colour meaning and icon of a verdict, from one table for the whole window.
struct VerdictWords {
    enum class Kind { None, Good, Neutral, Warning, Bad };
    Kind kind = Kind::None;
    QString words;                            ///< "Validated, bit-exact".
};
[[nodiscard]] VerdictWords verdictWords(const QString& verdict, bool exact);

} // namespace modulelens::models

Q_DECLARE_METATYPE(modulelens::models::VersionInfo)
