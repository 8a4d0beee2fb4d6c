// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/Format.h"

#include "backend/profile/Profile.h"

#include <QDateTime>
#include <QLocale>

#include <array>
#include <cmath>
#include <span>

namespace modulelens::models {

namespace {

constexpr QChar kSpace = QChar(0x00A0);
constexpr QChar kThinSpace = QChar(0x202F);
constexpr QChar kMinus = QChar(0x2212);

struct Unit {
    double size;
    QStringView name;
};

/// Three significant digits in the largest unit that leaves at least 1; whole numbers in the smallest unit.
QString scaled(std::int64_t value, std::span<const Unit> units) {
    const double size = std::abs(static_cast<double>(value));
    const Unit* unit = &units.front();
    for (const Unit& candidate : units) {
        // 0.9995 of a unit is shown as 1.00 of it, not as 1000 of the one below.
        if (size >= candidate.size * 0.9995) {
            unit = &candidate;
        }
    }
    const double shown = size / unit->size;
    int decimals = 0;
    if (unit != &units.front()) {
        decimals = shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0;
    }
    QString text = QLocale::c().toString(shown, 'f', decimals);
    if (value < 0) {
        text.prepend(kMinus);
    }
    if (!unit->name.isEmpty()) {
        text += kSpace;
        text += unit->name;
    }
    return text;
}

QDateTime parseUtc(const std::string& text) {
    QDateTime time = QDateTime::fromString(QString::fromStdString(text), Qt::ISODateWithMs);
    time.setTimeSpec(Qt::UTC);
    return time;
}

} // namespace

QString notApplicable() {
    return QStringLiteral("—");
}

QString notCaptured() {
    return QStringLiteral("not captured");
}

QString formatNanoseconds(std::int64_t nanoseconds) {
    static constexpr std::array<Unit, 4> kUnits = {{{1, u"ns"}, {1e3, u"µs"}, {1e6, u"ms"}, {1e9, u"s"}}};
    return scaled(nanoseconds, kUnits);
}

QString formatBytes(std::int64_t bytes) {
    static constexpr std::array<Unit, 5> kUnits = {{{1, u"B"}, {1e3, u"kB"}, {1e6, u"MB"}, {1e9, u"GB"}, {1e12, u"TB"}}};
    return scaled(bytes, kUnits);
}

QString formatFlops(std::int64_t flops) {
    static constexpr std::array<Unit, 6> kUnits = {
        {{1, u""}, {1e3, u"k"}, {1e6, u"M"}, {1e9, u"G"}, {1e12, u"T"}, {1e15, u"P"}}};
    return scaled(flops, kUnits);
}

QString formatCount(std::int64_t count) {
    QString digits = QString::number(count);
    const qsizetype first = count < 0 ? 1 : 0;
    for (qsizetype at = digits.size() - 3; at > first; at -= 3) {
        digits.insert(at, kThinSpace);
    }
    return digits;
}

QString formatShare(double share) {
    const double percent = share * 100;
    QString text = percent > 0 && percent < 0.05 ? QStringLiteral("< 0.1") : QLocale::c().toString(percent, 'f', 1);
    if (percent >= 99.95 && percent <= 100.05) {
        text = QStringLiteral("100");
    }
    return text + kSpace + u'%';
}

QString formatMetric(std::string_view unit, std::int64_t value) {
    if (value == profile::kUnknown) {
        return notApplicable();
    }
    if (unit == "ns") {
        return formatNanoseconds(value);
    }
    return unit == "flops" ? formatFlops(value) : formatBytes(value);
}

QString formatReal(double value) {
    if (std::isnan(value)) {
        return QStringLiteral("NaN");
    }
    if (std::isinf(value)) {
        return value < 0 ? QString(kMinus) + QStringLiteral("Inf") : QStringLiteral("+Inf");
    }
    const double size = std::abs(value);
    QString text;
    if (value == 0) {
        text = QStringLiteral("0");
    } else if (value == std::floor(value) && size < 1e6) {
        text = QLocale::c().toString(value, 'f', 0);
    } else if (size >= 1e5 || size < 1e-3) {
        text = QLocale::c().toString(value, 'e', 1);
        text.replace(QStringLiteral("e-0"), QStringLiteral("e-"));
        text.replace(QStringLiteral("e+0"), QStringLiteral("e"));
        text.replace(QStringLiteral("e+"), QStringLiteral("e"));
    } else {
        text = QLocale::c().toString(value, 'f', size < 10 ? 4 : size < 1000 ? 2 : 0);
    }
    return text.replace(u'-', kMinus);
}

QString formatShape(const std::vector<std::int64_t>& shape) {
    QString text = QStringLiteral("[");
    for (std::size_t i = 0; i < shape.size(); ++i) {
        text += (i == 0 ? QString() : QStringLiteral(", ")) + QString::number(shape[i]);
    }
    return text + u']';
}

QString formatAge(const std::string& utc, const std::string& nowUtc) {
    const QDateTime then = parseUtc(utc);
    const QDateTime now = parseUtc(nowUtc);
    if (!then.isValid() || !now.isValid()) {
        return {};
    }
    const qint64 minutes = then.secsTo(now) / 60;
    if (minutes < 1) {
        return QStringLiteral("now");
    }
    if (minutes < 60) {
        return QString::number(minutes) + kSpace + QStringLiteral("min");
    }
    if (minutes < qint64{48} * 60) {
        return QString::number(minutes / 60) + kSpace + u'h';
    }
    const qint64 days = minutes / (qint64{24} * 60);
    if (days < 90) {
        return QString::number(days) + kSpace + u'd';
    }
    return QString::number(days / 30) + kSpace + QStringLiteral("mo");
}

std::string utcNow() {
    return QDateTime::currentDateTimeUtc().toString(Qt::ISODate).toStdString();
}

QString bareClassName(std::string_view className) {
    const std::size_t colon = className.rfind(':');
    std::string_view name = colon == std::string_view::npos ? className : className.substr(colon + 1);
    const std::size_t dot = name.rfind('.');
    name = dot == std::string_view::npos ? name : name.substr(dot + 1);
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

QString metricTitle(std::string_view metric) {
    if (metric == "latency") {
        return QStringLiteral("Latency");
    }
    if (metric == "flops") {
        return QStringLiteral("FLOPs");
    }
    if (metric == "parameters") {
        return QStringLiteral("Params");
    }
    if (metric == "activation") {
        return QStringLiteral("Activation");
    }
    if (metric == "peak") {
        return QStringLiteral("Peak");
    }
    if (metric == "bytes") {
        return QStringLiteral("Bytes");
    }
    if (metric == "high_water") {
        return QStringLiteral("High water");
    }
    if (metric == "buffers") {
        return QStringLiteral("Buffers");
    }
    if (metric == "gradients") {
        return QStringLiteral("Gradients");
    }
    if (metric == "training_peak") {
        return QStringLiteral("Training peak");
    }
    return QString::fromUtf8(metric.data(), static_cast<qsizetype>(metric.size()));
}

} // namespace modulelens::models
