// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/Query.h"
#include "backend/registry/Registry.h"
#include "tests/registry/RegistryFixture.h"
#include "tests/support/BundleBuilder.h"
#include "tests/support/TestMain.h"

#include <QTest>

#include <random>

using namespace modulelens;
using namespace modulelens::registry;
using modulelens::test::BuiltModule;
using modulelens::test::BundleBuilder;
using modulelens::test::namedModule;
using modulelens::test::RegistryFixture;

namespace {

SearchRequest asking(const std::string& query, int limit = 1000, SortKey sort = SortKey::Name, const std::string& cursor = {}) {
    return {query, limit, cursor, sort};
}

QStringList namesOf(const SearchPage& page) {
    QStringList names;
    for (const VersionSummary& version : page.versions) {
        names << QString::fromStdString(version.module + "@v" + std::to_string(version.number));
    }
    return names;
}

}  // namespace

class QueryTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void finds_data();
    void finds();
    void errors_pointAtTheCharacter_data();
    void errors_pointAtTheCharacter();
    void limits_areRefused();
    void randomText_neverFails();
    void descriptions_parse();
    void pages_coverEverythingOnce_data();
    void pages_coverEverythingOnce();
    void paging_isStableUnderInsertion();
    void cursor_ofAnotherQuery_isRefused();
    void sorts_order();

private:
    std::unique_ptr<RegistryFixture> m_fixture;
};

/// Five modules of two models; the row "finds" names them by module.
void QueryTest::initTestCase() {
    m_fixture = std::make_unique<RegistryFixture>();
    BundleBuilder first("MiniLM large");
    first.created = "2026-10-31T23:59:59.999999Z";
    BuiltModule attention = namedModule("layers.2.attn");
    attention.className = "nn.modules:Attention";
    attention.weight.assign(1500, 1.0F);
    attention.device = "cuda:0";
    BuiltModule norm = namedModule("layers.10.50%_off");
    norm.className = "nn.modules:LayerNorm";
    norm.inputDtype = "int32";
    norm.device = "cuda:1";
    BuiltModule top = namedModule("");
    top.className = "Großes:ÄModell";
    first.modules = {attention, norm, top};
    m_fixture->importBundle(first);
    BundleBuilder second("dlrm");
    second.created = "2026-11-01T00:00:00Z";
    second.tags = {"baseline", "Öffentlich"};
    second.attributes = {{"team", std::string("Ranking \"A\"")}, {"lr", 0.5}, {"ok", true}, {"two words", std::string("x")}};
    BuiltModule table = namedModule("table");
    table.className = "EmbeddingBag";
    table.weight.assign(4000, 1.0F);
    second.modules = {table, namedModule("MLP:dense")};
    m_fixture->importBundle(second);
    second.tags = {"old"};
    second.attributes = {};
    second.created = "2026-12-24T10:00:00Z";
    second.modules[0].weight[0] = 7.0F;
    second.modules.pop_back();
    m_fixture->importBundle(second);
    LocalRegistry& registry = m_fixture->registry();
    const auto id = [&](const char* address) { return registry.resolve(address).value().id; };
    QVERIFY(registry.setAlias(id("dlrm::table@v0"), "Production"));
    QVERIFY(registry.storeResult(id("dlrm::table@v0"),
                                 {"", "profile", "", "cpu", "program", R"({"totals": {"latency_ns": 2000000}})", {}}));
    QVERIFY(registry.storeResult(id("dlrm::table@v1"), {"", "profile", "", "cpu", "program", R"({"latency_ns": 900})", {}}));
    QVERIFY(registry.storeResult(id("dlrm::table@v0"),
                                 {"", "validation", "", "cpu", "program", R"({"verdict": "pass", "exact": true})", {}}));
    QVERIFY(
        registry.storeResult(id("dlrm::MLP%3Adense"), {"", "validation", "", "cpu", "program", R"({"verdict": "fail"})", {}}));
    QVERIFY(registry.storeResult(id("MiniLM large::"),
                                 {"", "validation", "", "cpu", "program", R"({"verdict": "pass", "exact": false})", {}}));
}

void QueryTest::finds_data() {
    QTest::addColumn<QString>("query");
    QTest::addColumn<QStringList>("expected");
    const QStringList mini{"@v0", "layers.2.attn@v0", "layers.10.50%_off@v0"};
    const QStringList dlrm{"MLP:dense@v0", "table@v1", "table@v0"};
    const QStringList all = dlrm + mini;
    const auto row = [](const char* query, const QStringList& expected) {
        QTest::newRow(query) << QString::fromUtf8(query) << expected;
    };
    row("", all);
    row("   \t\n ", all);
    row("minilm", mini);
    row("MINILM LARGE", mini);
    row("\"MiniLM large\"", mini);
    row("\"large minilm\"", {});
    row("attn minilm", {"layers.2.attn@v0"});
    row("attention", {"layers.2.attn@v0"});
    row("layernorm", {"layers.10.50%_off@v0"});
    row("%", {"layers.10.50%_off@v0"});
    row("_", {"layers.10.50%_off@v0"});
    row("50%_", {"layers.10.50%_off@v0"});
    row("l%m", {});
    row("ämodell", {"@v0"});
    row("GROẞES", {});
    row("großes", {"@v0"});
    row("öffentlich", {"MLP:dense@v0", "table@v0"});
    row("baseline table", {"table@v0"});
    row("nn.modules:Attention", {"layers.2.attn@v0"});
    row("\"MLP:dense\"", {"MLP:dense@v0"});
    row("no such thing", {});
    row("model:minilm", mini);
    row("model:\"MiniLM large\"", mini);
    row("model=\"MiniLM large\"", mini);
    row("model=minilm", {});
    row("model:dlrm module:table", {"table@v1", "table@v0"});
    row("module=\"\"", {"@v0"});
    row("module:layers.1", {"layers.10.50%_off@v0"});
    row("class:norm", {"layers.10.50%_off@v0"});
    row("class=EmbeddingBag", {"table@v1", "table@v0"});
    row("class=embeddingbag", {});
    row("tag:baseline", {"MLP:dense@v0", "table@v0"});
    row("tag:BASELINE", {"MLP:dense@v0", "table@v0"});
    row("tag=BASELINE", {});
    row("tag:base", {});
    row("tag:old", {"table@v1"});
    row("-tag:old model:dlrm", {"MLP:dense@v0", "table@v0"});
    row("tag:baseline tag:old", {});
    row("-tag:old -tag:baseline", mini);
    row("alias:production", {"table@v0"});
    row("alias=production", {});
    row("alias:latest model:dlrm", {"MLP:dense@v0", "table@v1"});
    row("is:latest -model:minilm", {"MLP:dense@v0", "table@v1"});
    row("device:cuda", {"layers.2.attn@v0", "layers.10.50%_off@v0"});
    row("device:cuda:1", {"layers.10.50%_off@v0"});
    row("device=cuda", {});
    row("device:cud", {});
    row("dtype:int32", {"layers.10.50%_off@v0"});
    row("dtype:float32 -dtype:int32 model:mini", {"@v0", "layers.2.attn@v0"});
    row("params>1500", {"table@v1", "table@v0"});
    row("params>=1.5K", {"table@v1", "table@v0", "layers.2.attn@v0"});
    row("params=1500", {"layers.2.attn@v0"});
    row("params:2", {"MLP:dense@v0", "@v0", "layers.10.50%_off@v0"});
    row("params<=8B", {"MLP:dense@v0", "@v0", "layers.10.50%_off@v0"});
    row("params>15KiB", {"table@v1", "table@v0"});
    row("params>16KB", {});
    row("params>15.9kB", {"table@v1", "table@v0"});
    row("-params>1K", {"MLP:dense@v0", "@v0", "layers.10.50%_off@v0"});
    row("latency<2ms", {"table@v1"});
    row("latency<=2ms", {"table@v1", "table@v0"});
    row("latency>0.8us latency<1us", {"table@v1"});
    row("latency>1.9\xC2\xB5s", {"table@v0"});
    row("latency=0.002s", {"table@v0"});
    row("-latency<2ms model:dlrm", {"MLP:dense@v0", "table@v0"});
    row("created>2026-10", dlrm);
    row("created>2026-10-31", dlrm);
    row("created>=2026-10-31", all);
    row("created<2026-11", mini);
    row("created<=2026-11-01", {"MLP:dense@v0", "table@v0", "@v0", "layers.2.attn@v0", "layers.10.50%_off@v0"});
    row("created:2026-12", {"table@v1"});
    row("created:>2026-11-01", {"table@v1"});
    row("created=2026-12-24T10:00", {"table@v1"});
    row("created<2026", {});
    row("attr.team=\"ranking \\\"a\\\"\"", {"MLP:dense@v0", "table@v0"});
    row("attr.team:rank", {"MLP:dense@v0", "table@v0"});
    row("attr.team=rank", {});
    row("attr.lr=0.5", {"MLP:dense@v0", "table@v0"});
    row("attr.lr>0.4 attr.lr<0.6", {"MLP:dense@v0", "table@v0"});
    row("attr.lr>=1", {});
    row("attr.ok=true", {"MLP:dense@v0", "table@v0"});
    row("attr.ok=false", {});
    row("attr.\"two words\"=x", {"MLP:dense@v0", "table@v0"});
    row("-attr.lr=* model:dlrm", {"table@v1"});
    row("attr.none=*", {});
    row("is:validated", {"table@v0", "@v0"});
    row("is:exact", {"table@v0"});
    row("is:failed", {"MLP:dense@v0"});
    row("is:profiled", {"table@v1", "table@v0"});
    row("is:program", {});
    row("dlrm::table", {"table@v1", "table@v0"});
    row("dlrm::table@v0", {"table@v0"});
    row("dlrm::table@latest", {"table@v1"});
    row("dlrm::table@Production", {"table@v0"});
    row("-dlrm::table model:dlrm", {"MLP:dense@v0"});
    row("dlrm::MLP%3Adense", {"MLP:dense@v0"});
    row("'; DROP TABLE version; --x", {});
    row("\"' OR 1=1 --\"", {});
    row("tag:\"' OR '1'='1\"", {});
    row("model:?1", {});
    row("attr.\"x') OR 1=1 --\"=1", {});
}

void QueryTest::finds() {
    QFETCH(QString, query);
    QFETCH(QStringList, expected);
    const auto page = m_fixture->registry().search(asking(query.toStdString()));
    QVERIFY2(page, m_fixture->message(page));
    QCOMPARE(namesOf(*page), expected);
    QCOMPARE(page->total, std::int64_t{expected.size()});
}

void QueryTest::errors_pointAtTheCharacter_data() {
    QTest::addColumn<QByteArray>("query");
    QTest::addColumn<int>("character");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* query, int character, const char* part) {
        QTest::newRow(query) << QByteArray(query) << character << part;
    };
    row("modle:x", 1, "There is no field 'modle'");
    row("tag:ä modle:x", 7, "There is no field 'modle'");
    row("-modle:x", 2, "There is no field 'modle'");
    row("demo:Encoder", 1, "There is no field 'demo'");
    row("tag:", 5, "'tag' needs a value");
    row("tag: x", 5, "'tag' needs a value");
    row("tag:\"\"", 5, "'tag:' needs a value");
    row("tag>x", 4, "has no size");
    row("a \"b", 3, "The quote is not closed");
    row("tag:\"b", 5, "The quote is not closed");
    row("a\"b", 2, "A quote stands inside a word");
    row("\"a\"b", 4, "A space is missing");
    row("\"\"", 1, "The quoted text is empty");
    row("-", 1, "Nothing follows the '-'");
    row("a - b", 3, "Nothing follows the '-'");
    row("params>", 8, "'params' needs a value");
    row("params>x", 8, "'x' is not a number");
    row("params>-1", 8, "'-1' is not a number");
    row("params>1Q", 9, "'Q' is no unit");
    row("params>1e999", 8, "is not a number");
    row("params>nan", 8, "is not a number");
    row("latency<2", 10, "The time has no unit");
    row("latency<2h", 10, "'h' is no unit of time");
    row("latency<fast", 9, "'fast' is not a time");
    row("created>yesterday", 9, "'yesterday' is not a date");
    row("created>2026-02-30", 9, "is not a date");
    row("is:nice", 4, "There is no state 'nice'");
    row("attr.=x", 6, "The attribute has no name");
    row("attr.x", 7, "An attribute needs a comparison");
    row("attr.x>y", 8, "Only numbers can be compared");
    row("a::b::c", 1, "looks like a version address");
    row("a\xFF", 2, "not text");
    QTest::newRow("NUL") << QByteArray("ab\0c", 4) << 3 << "not text";
}

void QueryTest::errors_pointAtTheCharacter() {
    QFETCH(QByteArray, query);
    QFETCH(int, character);
    QFETCH(QString, part);
    const auto page = m_fixture->registry().search(asking(query.toStdString()));
    QVERIFY(!page);
    QCOMPARE(page.error().code, base::ErrorCode::InvalidArgument);
    QVERIFY(!page.error().fix.empty());
    const QString message = QString::fromStdString(page.error().message);
    QVERIFY2(message.contains(part), qPrintable(message));
    QVERIFY2(message.contains(QStringLiteral("at character %1:").arg(character)), qPrintable(message));
    // The last line has the caret under that character; four spaces stand before the text.
    QCOMPARE(message.section(QLatin1Char('\n'), -1), QString(character + 3, QLatin1Char(' ')) + QLatin1Char('^'));
    QCOMPARE(m_fixture->registry().models(query.toStdString()).error().message, page.error().message);
    QCOMPARE(m_fixture->registry().facet("tag", query.toStdString()).error().message, page.error().message);
}

void QueryTest::limits_areRefused() {
    LocalRegistry& registry = m_fixture->registry();
    for (const int limit : {0, -1, 1001}) {
        QCOMPARE(registry.search(asking("", limit)).error().code, base::ErrorCode::InvalidArgument);
    }
    QCOMPARE(registry.search(asking(std::string(5000, 'a'))).error().code, base::ErrorCode::InvalidArgument);
    std::string many;
    for (int i = 0; i < 64; ++i) {
        many += "-x ";
    }
    QVERIFY(registry.search(asking(many)));
    QCOMPARE(registry.search(asking(many + "y")).error().code, base::ErrorCode::InvalidArgument);
}

/// Whatever is typed gives a page or an error that points at a character, never a SQL error.
void QueryTest::randomText_neverFails() {
    const std::vector<std::string> pieces{
        "model:", "tag:", "attr.", "x", "\"",      "\\",       "-",      " ", ":", "=", "<", ">", "1M",       "2ms",
        "::",     "@v1",  "%",     "'", "created", "is:exact", "params", "ä", "(", ";", "*", "?", "latency<", "2026-11"};
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        std::string query;
        for (unsigned length = random() % 12; length > 0; --length) {
            query += pieces[random() % pieces.size()];
        }
        const auto page = m_fixture->registry().search(asking(query));
        QVERIFY2(page || page.error().code == base::ErrorCode::InvalidArgument, query.c_str());
    }
}

void QueryTest::descriptions_parse() {
    for (const QueryFieldDescription& field : queryFieldDescriptions()) {
        QVERIFY2(parseQuery(field.example), std::string(field.example).c_str());
        QVERIFY(field.example.starts_with(field.prefix));
        QVERIFY(!field.meaning.empty());
    }
}

void QueryTest::pages_coverEverythingOnce_data() {
    QTest::addColumn<int>("sort");
    QTest::addColumn<int>("limit");
    for (const auto& [name, sort] : {std::pair("newest", SortKey::Newest), std::pair("name", SortKey::Name),
                                     std::pair("parameters", SortKey::Parameters), std::pair("latency", SortKey::Latency)}) {
        for (const int limit : {1, 2, 4, 6}) {
            QTest::newRow(qPrintable(QStringLiteral("%1, %2 a page").arg(QLatin1String(name)).arg(limit)))
                << static_cast<int>(sort) << limit;
        }
    }
}

void QueryTest::pages_coverEverythingOnce() {
    QFETCH(int, sort);
    QFETCH(int, limit);
    const auto key = static_cast<SortKey>(sort);
    const QStringList expected = namesOf(m_fixture->registry().search(asking("", 1000, key)).value());
    QCOMPARE(expected.size(), 6);
    QStringList names;
    std::string cursor;
    do {
        const auto page = m_fixture->registry().search(asking("", limit, key, cursor));
        QVERIFY2(page, m_fixture->message(page));
        QCOMPARE(page->total, 6);
        QVERIFY(static_cast<int>(page->versions.size()) <= limit);
        names << namesOf(*page);
        cursor = page->nextCursor;
    } while (!cursor.empty() && names.size() < 20);
    QCOMPARE(names, expected);
}

void QueryTest::paging_isStableUnderInsertion() {
    RegistryFixture fixture;
    BundleBuilder builder("m");
    builder.modules = {namedModule("a"), namedModule("b"), namedModule("c"), namedModule("d")};
    fixture.importBundle(builder);
    for (const SortKey sort : {SortKey::Newest, SortKey::Name, SortKey::Parameters}) {
        const QStringList before = namesOf(fixture.registry().search(asking("", 1000, sort)).value());
        const auto first = fixture.registry().search(asking("", 2, sort)).value();
        // A newer version, and one that sorts before everything by name and size.
        BundleBuilder newer("A");
        newer.created = "2027-01-0" + std::to_string(static_cast<int>(sort) + 1) + "T00:00:00Z";
        newer.modules = {namedModule("a")};
        newer.modules[0].weight.assign(100 + static_cast<std::size_t>(sort), 1.0F);
        fixture.importBundle(newer);
        const auto rest = fixture.registry().search(asking("", 1000, sort, first.nextCursor)).value();
        QCOMPARE(namesOf(first) + namesOf(rest), before);
        QCOMPARE(rest.total, before.size() + 1);
    }
}

void QueryTest::cursor_ofAnotherQuery_isRefused() {
    const std::string cursor = m_fixture->registry().search(asking("", 2))->nextCursor;
    QVERIFY(!cursor.empty());
    QVERIFY(m_fixture->registry().search(asking("", 2, SortKey::Name, cursor)));
    const std::vector<SearchRequest> wrong{asking("mini", 2, SortKey::Name, cursor), asking("", 2, SortKey::Newest, cursor),
                                           asking("", 2, SortKey::Name, "x"), asking("", 2, SortKey::Name, "' OR 1=1"),
                                           asking("", 2, SortKey::Name, cursor.substr(0, cursor.size() / 2))};
    for (const SearchRequest& request : wrong) {
        QCOMPARE(m_fixture->registry().search(request).error().code, base::ErrorCode::InvalidArgument);
    }
}

void QueryTest::sorts_order() {
    const auto names = [&](SortKey sort) { return namesOf(m_fixture->registry().search(asking("", 1000, sort)).value()); };
    QCOMPARE(names(SortKey::Newest),
             QStringList({"table@v1", "table@v0", "MLP:dense@v0", "layers.2.attn@v0", "layers.10.50%_off@v0", "@v0"}));
    QCOMPARE(names(SortKey::Parameters).mid(0, 3), QStringList({"table@v0", "table@v1", "layers.2.attn@v0"}));
    QCOMPARE(names(SortKey::Latency).mid(0, 2), QStringList({"table@v0", "table@v1"}));
}

ML_TEST_MAIN(QueryTest)
#include "tst_Query.moc"
