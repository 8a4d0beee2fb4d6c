// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// A profile of 1,000,000 scopes in the flame graph: file to first paint, layout and paint while zooming, hover, memory.

#include "backend/base/FileSystem.h"
#include "backend/profile/ProfileFile.h"
#include "models/ProfileView.h"
#include "tests/support/FoldedProfile.h"
#include "widgets/FlameGraph.h"

#include <QApplication>
#include <QImage>
#include <QMouseEvent>
#include <QTemporaryDir>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

using namespace modulelens;
using namespace modulelens::widgets;
using models::ProfileView;
using profile::ScopeId;

namespace {

constexpr int kScopes = 1000000;
constexpr QSize kSize = {1296, 450};

double milliseconds(std::chrono::steady_clock::time_point since) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

/// Processor time of this thread, which other programs on the machine do not lengthen.
double processorMilliseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double quantile(std::vector<double> values, double at) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(std::lround(at * static_cast<double>(values.size() - 1)))];
}

/// Prints results as tests/bench/run.py expects them.
class Results {
public:
    void add(const char* name, double value, const char* unit, double limit, const std::string& detail) {
        std::printf(
            "%s\n  {\"name\": \"flame.%s\", \"value\": %.6g, \"unit\": \"%s\", \"target\": \"<= %g\", \"ok\": %s, "
            "\"detail\": \"%s\"}",
            m_isFirst ? "{\"results\": [" : ",", name, value, unit, limit, value <= limit ? "true" : "false", detail.c_str());
        m_isFirst = false;
    }
    void finish() { std::printf("\n]}\n"); }

private:
    bool m_isFirst = true;
};

void paint(FlameGraph& flame, QImage& image) {
    flame.render(&image);
}

/// Zoom roots a person might go to: from the top down into a random branch, again and again.
std::vector<ScopeId> zoomRoots(const profile::Profile& shown) {
    std::vector<ScopeId> roots;
    while (roots.size() < 300) {
        ScopeId scope = 0;
        while (shown.hasChildren(scope) && roots.size() < 300) {
            roots.push_back(scope);
            std::vector<ScopeId> children;
            for (ScopeId child = scope + 1; child < shown.subtreeEnd(scope); child = shown.subtreeEnd(child)) {
                if (shown.hasChildren(child)) {
                    children.push_back(child);
                }
            }
            if (children.empty()) {
                break;
            }
            scope = children[roots.size() * 7919 % children.size()];
        }
    }
    return roots;
}

/// A million scopes that fill the window: 400 towers of 22 modules, each with a hundred small operators.
std::shared_ptr<const profile::Profile> crowdedProfile() {
    profile::ProfileBuilder builder;
    const int root = builder.addScope(-1, profile::ScopeKind::Module, "Model", "", "Model", 0);
    for (int tower = 0; tower < 400; ++tower) {
        int parent = root;
        for (int level = 0; level < 22; ++level) {
            const std::string path = std::to_string(tower) + "." + std::to_string(level);
            parent = builder.addScope(parent, profile::ScopeKind::Module, std::to_string(level), path,
                                      level % 2 == 0 ? "Block" : "Linear", 0);
            for (int call = 0; call < 113; ++call) {
                const int op = builder.addScope(parent, profile::ScopeKind::Operator, "aten::mul", path, "", call);
                builder.addSelf(op, "latency", profile::Direction::Forward, level == 21 ? 1000 : 1 + call % 7);
            }
        }
    }
    return builder.build().value();
}

} // namespace

int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
    }
    const QApplication application(argc, argv);
    const QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath(QStringLiteral("million.safetensors")).toStdString();
    if (const auto written = profile::writeProfile(base::realFileSystem(), path, *test::randomProfile(kScopes, 1)); !written) {
        std::fprintf(stderr, "%s\n", written.error().text().c_str());
        return 1;
    }
    Results results;
    QImage image(kSize, QImage::Format_RGB32);

    std::vector<double> firstPaints;
    for (int i = 0; i < 3; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const auto read = profile::readProfile(base::realFileSystem(), path);
        if (!read) {
            std::fprintf(stderr, "%s\n", read.error().text().c_str());
            return 1;
        }
        ProfileView view;
        view.setProfile(read.value());
        FlameGraph flame(&view);
        flame.resize(kSize);
        paint(flame, image);
        firstPaints.push_back(milliseconds(start));
    }

    const auto million = profile::readProfile(base::realFileSystem(), path).value();
    ProfileView view;
    view.setGrouping(profile::Grouping::Call);
    view.setProfile(million);
    FlameGraph flame(&view);
    flame.setReduceMotion(true);
    flame.resize(kSize);
    flame.show();
    std::vector<double> frames;
    std::vector<double> frameWork;
    std::vector<double> rootFrames;
    std::size_t boxes = 0;
    for (const ScopeId root : zoomRoots(*million)) {
        const double work = processorMilliseconds();
        const auto start = std::chrono::steady_clock::now();
        view.zoomTo(root);
        paint(flame, image);
        frames.push_back(milliseconds(start));
        frameWork.push_back(processorMilliseconds() - work);
        if (root == 0) {
            rootFrames.push_back(frames.back());
            boxes = 0;
            for (int row = 0; row < flame.flameLayout().rowCount(); ++row) {
                boxes += flame.flameLayout().row(row).size();
            }
        }
    }

    view.zoomTo(0);
    paint(flame, image);
    std::vector<double> hovers;
    std::vector<QPoint> marks;
    for (int row = 0; row < flame.flameLayout().rowCount(); ++row) {
        for (const models::FlameSpan& span : flame.flameLayout().row(row)) {
            const QPoint mark = flame.boxRect(row, span).center();
            if (flame.viewport()->rect().contains(mark)) {
                marks.push_back(mark);
            }
        }
    }
    for (std::size_t i = 0; i < 2000; ++i) {
        const QPointF at = marks[i * 7919 % marks.size()];
        QMouseEvent move(QEvent::MouseMove, at, flame.viewport()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        const auto start = std::chrono::steady_clock::now();
        QApplication::sendEvent(flame.viewport(), &move);
        hovers.push_back(milliseconds(start));
    }

    const auto crowded = crowdedProfile();
    view.setProfile(crowded);
    std::vector<double> crowdedFrames;
    for (int i = 0; i < 50; ++i) {
        const auto start = std::chrono::steady_clock::now();
        flame.setFoldWidth(2 + i % 2);
        paint(flame, image);
        crowdedFrames.push_back(milliseconds(start));
    }
    std::size_t crowdedBoxes = 0;
    for (int row = 0; row < flame.flameLayout().rowCount(); ++row) {
        crowdedBoxes += flame.flameLayout().row(row).size();
    }

    const std::string shown = std::to_string(boxes) + " boxes at the root";
    results.add("layout_and_paint_median", quantile(frames, 0.5), "ms", 8, "1,000,000 scopes, zooming about; " + shown);
    results.add("layout_and_paint_p99", quantile(frameWork, 0.99), "ms", 8, "the same, processor time");
    results.add("layout_and_paint_root", quantile(rootFrames, 0.5), "ms", 8, "median of those that show everything");
    results.add("layout_and_paint_crowded", quantile(crowdedFrames, 0.5), "ms", 8,
                "median, " + std::to_string(crowded->scopeCount()) + " scopes, " + std::to_string(crowdedBoxes) +
                    " boxes, no gaps in the window");
    results.add("hover_median", quantile(hovers, 0.5), "ms", 0.1, "a mouse move: box, tooltip text, hover signal");
    results.add("file_to_first_paint", quantile(firstPaints, 0.5), "ms", 1000, "read, group by module, lay out, paint");
    results.add("bytes_per_scope", static_cast<double>(million->memoryBytes()) / kScopes + sizeof(std::int32_t), "bytes", 200,
                std::to_string(million->columns().size()) + " columns, with the rows of the child order");
    results.finish();
    return 0;
}
