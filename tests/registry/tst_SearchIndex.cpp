// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Connection.h"
#include "backend/registry/QueryCompletion.h"
#include "backend/registry/Registry.h"
#include "backend/registry/SearchIndex.h"
#include "backend/registry/Timestamp.h"
#include "tests/registry/RegistryFixture.h"
#include "tests/support/BundleBuilder.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>

using namespace modulelens;
using namespace modulelens::registry;
using modulelens::test::BuiltModule;
using modulelens::test::BundleBuilder;
using modulelens::test::RegistryFixture;

namespace {

std::int64_t total(LocalRegistry& registry, const std::string& query) {
    const auto page = registry.search({query, 1, {}, SortKey::Newest});
    return page ? page->total : -1;
}

const std::vector<std::string> kModels{"mini lm", "recommender/v2", "Größe@x::y"};
const std::vector<std::string> kModules{"", "layers.2.attn", "layers.10.q_proj", "über.🙂", "a:b@c"};

std::vector<std::string> everything(LocalRegistry& registry, const std::string& query, SortKey sort, int limit) {
    std::vector<std::string> ids;
    SearchRequest request{query, limit, {}, sort};
    do {
        const auto page = registry.search(request);
        if (!page) {
            return {page.error().text()};
        }
        for (const VersionSummary& version : page->versions) {
            ids.push_back(version.id);
        }
        request.cursor = page->nextCursor;
    } while (!request.cursor.empty());
    return ids;
}

/// Versions as sort keys order them, by comparing summaries alone.
std::vector<std::string> sortedByHand(const std::vector<VersionSummary>& versions, SortKey sort) {
    const auto number = [&](const VersionSummary& version) -> double {
        switch (sort) {
            case SortKey::Oldest:
                return static_cast<double>(parseTimeSpan(version.created)->from);
            case SortKey::Newest:
                return -static_cast<double>(parseTimeSpan(version.created)->from);
            case SortKey::Parameters:
                return -static_cast<double>(version.parameterBytes);
            default: {
                const std::optional<std::int64_t> value = sort == SortKey::Latency      ? version.latencyNs
                                                          : sort == SortKey::Flops      ? version.flops
                                                          : sort == SortKey::BytesMoved ? version.bytesMoved
                                                          : sort == SortKey::Activation ? version.activationBytes
                                                                                        : version.peakBytes;
                return value ? -static_cast<double>(*value) : 1e300;
            }
        }
    };
    // By number, and what is equal in the order given.
    std::vector<std::pair<double, std::size_t>> order;
    order.reserve(versions.size());
    for (std::size_t i = 0; i < versions.size(); ++i) {
        order.emplace_back(number(versions[i]), i);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::string> ids;
    ids.reserve(versions.size());
    for (const auto& [key, index] : order) {
        ids.push_back(versions[index].id);
    }
    return ids;
}

/// A registry of 3 models, 5 modules and up to 4 versions, with labels and results at random.
class FilledRegistry {
public:
    FilledRegistry() {
        for (int step = 0; step < 4; ++step) {
            for (const std::string& model : kModels) {
                BundleBuilder builder(model);
                builder.created = "2026-11-" + std::to_string(10 + step) + "T0" + std::to_string(number(9)) + ":00:00Z";
                builder.step = step;
                for (const std::string& name : kModules) {
                    BuiltModule module = test::namedModule(name);
                    const int elements = 1 + number(6);
                    module.weight.assign(static_cast<std::size_t>(elements), static_cast<float>(step));
                    module.device = number(2) == 0 ? "cpu" : "cuda:1";
                    builder.modules.push_back(module);
                }
                for (const VersionSummary& version : fixture.importBundle(builder).versions) {
                    decorate(version.id);
                }
            }
        }
    }

    /// All versions, the earliest row first.
    std::vector<VersionSummary> all() {
        std::vector<VersionSummary> versions;
        for (const std::string& id : m_ids) {
            const auto version = fixture.registry().resolve(id);
            if (version) {
                versions.push_back(*version);
            }
        }
        return versions;
    }

    RegistryFixture fixture;

private:
    int number(int bound) { return static_cast<int>(m_random() % static_cast<unsigned>(bound)); }

    void decorate(const std::string& id) {
        m_ids.push_back(id);
        LocalRegistry& registry = fixture.registry();
        for (const char* tag : {"baseline", "nightly", "Überprüft", "attn"}) {
            if (number(3) == 0) {
                QVERIFY(registry.addTag(id, tag));
            }
        }
        if (number(3) == 0) {
            const std::string json = R"({"totals": {"latency_ns": )" + std::to_string(number(5)) + R"(, "flops": )" +
                                     std::to_string(number(5)) + R"(, "bytes": null, "peak_bytes": 7}})";
            QVERIFY(registry.storeResult(id, {"", "profile", "2026-12-01", "cpu", "program", json, {}}));
        }
        if (number(3) == 0) {
            const std::string json = number(2) == 0 ? R"({"verdict": "pass", "exact": true})" : R"({"verdict": "fail"})";
            QVERIFY(registry.storeResult(id, {"", "validation", "2026-12-01", "cpu", "program", json, {}}));
        }
        if (number(5) == 0) {
            QVERIFY(registry.remove(id));
        }
    }

    std::mt19937 m_random{7};
    std::vector<std::string> m_ids;
};

} // namespace

class SearchIndexTest : public QObject {
    Q_OBJECT

private slots:
    void query_findsWhatSummariesSay_data();
    void query_findsWhatSummariesSay();
    void everySort_isThatOfTheSummaries();
    void facets_countWhatSummariesSay();
    void rowsWrittenByHand_areFoundAfterwards();
    void indexOfChanges_equalsIndexMadeAnew();
    void grams_areThoseOfTheText();
    void shortText_isTheBeginningOfAPart_data();
    void shortText_isTheBeginningOfAPart();
    void completion_data();
    void completion();
    void namesLike_beginsFirst();
    void damagedIndex_isCorrupt();
    void wrongIndex_isFoundAndMadeAnew_data();
    void wrongIndex_isFoundAndMadeAnew();
};

void SearchIndexTest::query_findsWhatSummariesSay_data() {
    using Holds = std::function<bool(const VersionSummary&)>;
    QTest::addColumn<QString>("query");
    QTest::addColumn<Holds>("holds");
    const auto tagged = [](const VersionSummary& v, const std::string& tag) {
        return std::find(v.tags.begin(), v.tags.end(), tag) != v.tags.end();
    };
    const auto row = [](const char* query, const Holds& holds) { QTest::newRow(query) << QString::fromUtf8(query) << holds; };
    row("", [](const auto&) { return true; });
    row("tag:baseline", [=](const auto& v) { return tagged(v, "baseline"); });
    row("tag:BASELINE -tag:nightly", [=](const auto& v) { return tagged(v, "baseline") && !tagged(v, "nightly"); });
    row("tag:überprüft", [=](const auto& v) { return tagged(v, "Überprüft"); });
    row("attn", [=](const auto& v) { return v.module == "layers.2.attn" || tagged(v, "attn"); });
    row("-attn", [=](const auto& v) { return v.module != "layers.2.attn" && !tagged(v, "attn"); });
    row("module:layers.10", [](const auto& v) { return v.module == "layers.10.q_proj"; });
    row("module=\"\"", [](const auto& v) { return v.module.empty(); });
    row("module:🙂", [](const auto& v) { return v.module == "über.🙂"; });
    row("model:GRÖSSE", [](const auto&) { return false; });
    row("model:größe", [](const auto& v) { return v.model == "Größe@x::y"; });
    row("\"b@c\"", [](const auto& v) { return v.module == "a:b@c"; });
    row("device:cuda", [](const auto& v) { return v.device == "cuda:1"; });
    row("device=cuda", [](const auto&) { return false; });
    row("is:latest", [](const auto& v) { return std::find(v.aliases.begin(), v.aliases.end(), "latest") != v.aliases.end(); });
    row("is:validated", [](const auto& v) { return v.verdict == "pass"; });
    row("is:failed", [](const auto& v) { return v.verdict == "fail"; });
    row("-is:exact", [](const auto& v) { return !v.exact; });
    row("is:profiled", [](const auto& v) { return v.latencyNs.has_value(); });
    row("latency<2ns", [](const auto& v) { return v.latencyNs && *v.latencyNs < 2; });
    row("-latency<2ns", [](const auto& v) { return !v.latencyNs || *v.latencyNs >= 2; });
    row("params>=12B", [](const auto& v) { return v.parameterBytes >= 12; });
    row("params=8B", [](const auto& v) { return v.parameterBytes == 8; });
    row("created>2026-11-11", [](const auto& v) { return v.created >= "2026-11-12"; });
    row("created<=2026-11-11", [](const auto& v) { return v.created < "2026-11-12"; });
    row("dtype:float32 class:Linear", [](const auto&) { return true; });
    row("dtype:int64", [](const auto&) { return false; });
}

void SearchIndexTest::query_findsWhatSummariesSay() {
    using Holds = std::function<bool(const VersionSummary&)>;
    QFETCH(QString, query);
    QFETCH(Holds, holds);
    static FilledRegistry filled;
    std::vector<VersionSummary> expected = filled.all();
    QVERIFY(expected.size() > 40);
    std::erase_if(expected, [&](const VersionSummary& version) { return !holds(version); });
    const auto page = filled.fixture.registry().search({query.toStdString(), 1000, {}, SortKey::Oldest});
    QVERIFY2(page, filled.fixture.message(page));
    QCOMPARE(page->total, static_cast<std::int64_t>(expected.size()));
    std::set<std::string> found;
    std::set<std::string> wanted;
    for (const VersionSummary& version : page->versions) {
        found.insert(version.id);
    }
    for (const VersionSummary& version : expected) {
        wanted.insert(version.id);
    }
    QVERIFY(found == wanted);
}

void SearchIndexTest::everySort_isThatOfTheSummaries() {
    FilledRegistry filled;
    for (const SortKey sort : {SortKey::Newest, SortKey::Oldest, SortKey::Parameters, SortKey::Latency, SortKey::Flops,
                               SortKey::BytesMoved, SortKey::Activation, SortKey::Peak}) {
        const std::vector<std::string> expected = sortedByHand(filled.all(), sort);
        for (const int limit : {1, 7, 1000}) {
            QVERIFY2(everything(filled.fixture.registry(), "", sort, limit) == expected,
                     qPrintable(QString::number(static_cast<int>(sort)) + QLatin1Char(' ') + QString::number(limit)));
        }
    }
    // Natural order of names, then the newest version first.
    std::vector<std::string> addresses;
    const auto page = filled.fixture.registry().search({"model:recommender", 1000, {}, SortKey::Name});
    for (const VersionSummary& version : page->versions) {
        if (addresses.empty() || addresses.back() != version.module) {
            addresses.push_back(version.module);
        }
    }
    QVERIFY((addresses == std::vector<std::string>{"", "a:b@c", "layers.2.attn", "layers.10.q_proj", "über.🙂"}));
    for (const int limit : {1, 3}) {
        QVERIFY(everything(filled.fixture.registry(), "", SortKey::Name, limit) ==
                everything(filled.fixture.registry(), "", SortKey::Name, 1000));
    }
}

void SearchIndexTest::facets_countWhatSummariesSay() {
    FilledRegistry filled;
    std::map<std::string, std::int64_t> tags;
    std::map<std::string, std::int64_t> models;
    for (const VersionSummary& version : filled.all()) {
        if (version.device == "cuda:1") {
            ++models[version.model];
            for (const std::string& tag : version.tags) {
                ++tags[tag];
            }
        }
    }
    const auto facets = filled.fixture.registry().facets({"tag", "model"}, "device:cuda");
    QVERIFY2(facets, filled.fixture.message(facets));
    QCOMPARE(facets->size(), std::size_t{2});
    for (const auto& [index, expected] : {std::pair(0, &tags), std::pair(1, &models)}) {
        std::map<std::string, std::int64_t> counted;
        std::int64_t before = std::numeric_limits<std::int64_t>::max();
        for (const FacetValue& value : (*facets)[static_cast<std::size_t>(index)].values) {
            counted[value.value] = value.count;
            QVERIFY(value.count <= before);
            before = value.count;
        }
        QVERIFY(counted == *expected);
    }
    QCOMPARE(filled.fixture.registry().facets({"colour"}, "").error().code, base::ErrorCode::InvalidArgument);
}

void SearchIndexTest::rowsWrittenByHand_areFoundAfterwards() {
    RegistryFixture fixture;
    fixture.importBundle(test::encoderBundle());
    QCOMPARE(total(fixture.registry(), "is:latest"), 3);
    fixture.execute("UPDATE version SET deleted = 5 WHERE id = 1");
    fixture.execute("INSERT INTO version_tag (name, version) SELECT id, 2 FROM name WHERE text = 'cpu'");
    QCOMPARE(fixture.registry().search({})->total, 2);
    QCOMPARE(total(fixture.registry(), "tag:cpu"), 1);
    fixture.execute("DELETE FROM version_tag");
    QCOMPARE(total(fixture.registry(), "tag:cpu"), 0);
    QCOMPARE(fixture.problems(), QStringList());
}

void SearchIndexTest::indexOfChanges_equalsIndexMadeAnew() {
    FilledRegistry filled;
    const auto indexRows = [&] {
        QStringList rows;
        for (const QString& row : filled.fixture.dump()) {
            if (row.startsWith(QLatin1String("posting:")) || row.startsWith(QLatin1String("version_block:"))) {
                // Without the row id and the stamp, which tell only when a row was written.
                QStringList cells = row.split(QLatin1Char('|'));
                cells.removeAt(row.startsWith(QLatin1String("posting:")) ? 0 : 3);
                cells[0] = row.startsWith(QLatin1String("posting:")) ? QStringLiteral("p ") + cells[0] : QStringLiteral("b");
                rows << cells.join(QLatin1Char('|'));
            }
        }
        rows.sort();
        return rows;
    };
    const QStringList changed = indexRows();
    QVERIFY(changed.size() > 50);
    filled.fixture.close();
    {
        Connection connection((filled.fixture.folder() / "registry.sqlite").string(), SQLite::OPEN_READWRITE);
        SQLite::Transaction transaction(connection.database());
        rebuildIndex(connection);
        connection.resetStatements();
        transaction.commit();
    }
    filled.fixture.reopen();
    QCOMPARE(indexRows(), changed);
}

void SearchIndexTest::grams_areThoseOfTheText() {
    // "ab.cd" holds ab., b.c and .cd, and its parts begin with a, ab, '.', ".c", c and cd.
    const std::int64_t start = std::int64_t{1} << 24;
    const std::vector<std::int64_t> expected{0x2E6364,       0x61622E,       0x622E63,       start | 0x2E00, start | 0x2E63,
                                             start | 0x6100, start | 0x6162, start | 0x6300, start | 0x6364};
    QVERIFY(gramsOf("ab.cd") == expected);
    QVERIFY(gramsOf("").empty());
}

void SearchIndexTest::shortText_isTheBeginningOfAPart_data() {
    QTest::addColumn<QString>("query");
    QTest::addColumn<int>("modules");
    QTest::newRow("q") << QStringLiteral("module:q") << 1;
    QTest::newRow("q_") << QStringLiteral("module:q_") << 1;
    QTest::newRow("pr, behind an underscore") << QStringLiteral("module:pr") << 1;
    QTest::newRow("ro, inside a part") << QStringLiteral("module:ro") << 0;
    QTest::newRow("roj, three letters") << QStringLiteral("module:roj") << 1;
    QTest::newRow("ü") << QStringLiteral("module:ü") << 1;
    QTest::newRow("üb") << QStringLiteral("module:ÜB") << 1;
    QTest::newRow("be, inside a part") << QStringLiteral("module:be") << 0;
    QTest::newRow("emoji") << QStringLiteral("module:🙂") << 1;
    QTest::newRow("10") << QStringLiteral("module:10") << 1;
}

void SearchIndexTest::shortText_isTheBeginningOfAPart() {
    QFETCH(QString, query);
    static FilledRegistry filled;
    QTEST(static_cast<int>(filled.fixture.registry().modules("mini lm", query.toStdString())->size()), "modules");
}

void SearchIndexTest::completion_data() {
    QTest::addColumn<QString>("query");   // The cursor is at '|'.
    QTest::addColumn<QString>("expected");
    QTest::newRow("field") << QStringLiteral("mod|") << QStringLiteral("model:");
    QTest::newRow("negated field") << QStringLiteral("x -ta|") << QStringLiteral("x -tag:");
    QTest::newRow("state") << QStringLiteral("is:val|") << QStringLiteral("is:validated");
    QTest::newRow("name with a space") << QStringLiteral("model:mini| tag:x") << QStringLiteral("model:\"mini lm\" tag:x");
    QTest::newRow("open quotation") << QStringLiteral("model:\"min|") << QStringLiteral("model:\"mini lm\"");
    QTest::newRow("tag") << QStringLiteral("tag:ÜBER|") << QStringLiteral("tag:Überprüft");
    QTest::newRow("free text") << QStringLiteral("recom|") << QStringLiteral("model:recommender/v2");
    QTest::newRow("inside a word") << QStringLiteral("tag:bas|xyz is:latest") << QStringLiteral("tag:baseline is:latest");
    QTest::newRow("nothing fits") << QStringLiteral("tag:zzz|") << QString();
    QTest::newRow("a number") << QStringLiteral("params>1|") << QString();
}

void SearchIndexTest::completion() {
    QFETCH(QString, query);
    QFETCH(QString, expected);
    static FilledRegistry filled;
    std::string text = query.toStdString();
    const std::size_t cursor = text.find('|');
    text.erase(cursor, 1);
    const auto completions = completeQuery(filled.fixture.registry(), text, cursor, 20);
    QVERIFY2(completions, filled.fixture.message(completions));
    QString first;
    if (!completions->empty()) {
        const QueryCompletion& best = completions->front();
        first = QString::fromStdString(text.substr(0, best.from) + best.text + text.substr(best.until));
    }
    QCOMPARE(first, expected);
}

void SearchIndexTest::namesLike_beginsFirst() {
    RegistryFixture fixture;
    BundleBuilder builder("m");
    for (const char* name : {"head.attn", "attn.head", "zattn"}) {
        builder.modules.push_back(test::namedModule(name));
    }
    fixture.importBundle(builder);
    QVERIFY(
        (*fixture.registry().namesLike("module", "attn", 10) == std::vector<std::string>{"attn.head", "head.attn", "zattn"}));
    QVERIFY((*fixture.registry().namesLike("module", "attn", 1) == std::vector<std::string>{"attn.head"}));
    QVERIFY(fixture.registry().namesLike("tag", "attn", 10)->empty());
}

void SearchIndexTest::damagedIndex_isCorrupt() {
    RegistryFixture fixture;
    fixture.importBundle(test::encoderBundle());
    fixture.execute("UPDATE posting SET ids = x'00112233'");
    QCOMPARE(fixture.registry().search({}).error().code, base::ErrorCode::Corrupt);
    fixture.execute("UPDATE posting SET ids = zeroblob(0)");
    QCOMPARE(fixture.registry().search({}).error().code, base::ErrorCode::Corrupt);
    fixture.execute(
        "DELETE FROM posting; UPDATE version_block SET cells = x'00', stamp = stamp + 1; UPDATE index_state SET generation = "
        "99");
    QCOMPARE(fixture.registry().search({"params>1", 50, {}, SortKey::Newest}).error().code, base::ErrorCode::Corrupt);
}

void SearchIndexTest::wrongIndex_isFoundAndMadeAnew_data() {
    QTest::addColumn<QString>("damage");
    QTest::newRow("a state is lost") << QStringLiteral("DELETE FROM posting WHERE kind = 0 AND value = 1");
    QTest::newRow("a state is that of others") << QStringLiteral("UPDATE posting SET value = 3 WHERE kind = 0 AND value = 1");
    QTest::newRow("a tag is lost") << QStringLiteral("DELETE FROM posting WHERE kind = 2");
    QTest::newRow("a tag too many") << QStringLiteral("UPDATE posting SET kind = 2 WHERE kind = 3");
    QTest::newRow("a column is lost") << QStringLiteral("DELETE FROM version_block WHERE kind = 2");
    QTest::newRow("a column is another") << QStringLiteral(
        "UPDATE version_block SET cells = (SELECT cells FROM version_block WHERE kind = 5) WHERE kind = 6");
    QTest::newRow("a bitmap is garbage") << QStringLiteral("UPDATE posting SET ids = x'0011'");
}

void SearchIndexTest::wrongIndex_isFoundAndMadeAnew() {
    QFETCH(QString, damage);
    RegistryFixture fixture;
    const std::string id = fixture.importBundle(test::encoderBundle()).versions.front().id;
    QVERIFY(fixture.registry().addTag(id, "kept"));
    fixture.execute(damage.toStdString());
    fixture.reopen();
    QCOMPARE(fixture.problems(), QStringList{QStringLiteral("The search index did not match its rows; it was made anew")});
    QCOMPARE(fixture.problems(), QStringList());
    QCOMPARE(total(fixture.registry(), "tag:kept is:latest params>0 dtype:float32"), 1);
}

ML_TEST_MAIN(SearchIndexTest)
#include "tst_SearchIndex.moc"
