// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/RegistrySearch.h"

#include "models/QueryText.h"
#include "tests/support/FakeRegistry.h"
#include "tests/support/TestMain.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

namespace modulelens::models {

using RowKind = RegistryTreeModel::RowKind;

class RegistrySearchTest : public QObject {
    Q_OBJECT

    static std::shared_ptr<test::FakeRegistry> filledRegistry() {
        auto registry = std::make_shared<test::FakeRegistry>();
        registry->addModule("ranker", "", "AdsRanker", 2, {"prod"});
        registry->addModule("ranker", "attn", "Attention", 12);
        registry->addModule("minilm", "", "BertModel", 1, {"prod", "nightly"});
        return registry;
    }

    static RowKind kindOf(const QModelIndex& index) {
        return static_cast<RowKind>(index.data(RegistryTreeModel::KindRole).toInt());
    }

private slots:
    void everything_isCountedAndGrouped() {
        TaskPool pool(0);
        RegistrySearch search(pool);
        search.setRegistry(filledRegistry());
        QCOMPARE(search.versionCount(), 15);
        QCOMPARE(search.moduleCount(), 3);
        QVERIFY(!search.isEmptyRegistry());
        QCOMPARE(search.tree().rowCount(), 2);
        const QModelIndex ranker = search.tree().index(0, 0);
        QCOMPARE(ranker.data().toString(), QStringLiteral("ranker"));
        QCOMPARE(ranker.data(RegistryTreeModel::CountRole).toInt(), 14);
    }

    void completion_goesOnWithTheWordAtTheCursor() {
        TaskPool pool(0);
        RegistrySearch search(pool);
        search.setRegistry(filledRegistry());
        QSignalSpy spy(&search, &RegistrySearch::completed);
        search.complete(QStringLiteral("gr\u00f6\u00dfe -ta is:latest"), 9);
        QCOMPARE(spy.count(), 1);
        QCOMPARE(spy[0][0].toString(), QStringLiteral("gr\u00f6\u00dfe -ta is:latest"));
        QCOMPARE(spy[0][1].toStringList(), QStringList{QStringLiteral("gr\u00f6\u00dfe -tag: is:latest")});
        search.complete(QStringLiteral("params>1"), 8);
        QVERIFY(spy[1][1].toStringList().isEmpty());
    }

    void model_keepsItsPromisesThroughResultsAndReads() {
        TaskPool pool(1);
        RegistrySearch search(pool);
        // The tester opens every row that it sees.
        const QAbstractItemModelTester tester(&search.tree(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        search.setRegistry(filledRegistry());
        QTRY_VERIFY(pool.isIdle() && search.tree().rowCount() == 2);
        search.setQuery(QStringLiteral("tag:nightly"));
        QTRY_VERIFY(pool.isIdle() && search.tree().rowCount() == 1);
        const QModelIndex minilm = search.tree().index(0, 0);
        if (search.tree().canFetchMore(minilm)) {
            search.tree().fetchMore(minilm);
        }
        QTRY_COMPARE(search.tree().rowCount(minilm), 1);
    }

    void children_areReadWhenOpened() {
        TaskPool pool(0);
        RegistrySearch search(pool);
        RegistryTreeModel& tree = search.tree();
        search.setRegistry(filledRegistry());
        const QModelIndex ranker = tree.index(0, 0);
        QCOMPARE(tree.rowCount(ranker), 0);
        QVERIFY(tree.hasChildren(ranker));
        tree.fetchMore(ranker);
        QCOMPARE(tree.rowCount(ranker), 2);
        QCOMPARE(tree.index(0, 0, ranker).data().toString(), QStringLiteral("(whole model)"));
        const QModelIndex attn = tree.index(1, 0, ranker);
        tree.fetchMore(attn);
        // Eight versions, then one row for the other four.
        QCOMPARE(tree.rowCount(attn), 9);
        const QModelIndex more = tree.index(8, 0, attn);
        QCOMPARE(kindOf(more), RowKind::More);
        QCOMPARE(more.data().toString(), QStringLiteral("4 older versions"));
        tree.loadMore(more);
        QCOMPARE(tree.rowCount(attn), 12);
        QCOMPARE(kindOf(tree.index(11, 0, attn)), RowKind::Version);
    }

    void query_narrowsTreeAndFacets() {
        TaskPool pool(0);
        RegistrySearch search(pool);
        search.setRegistry(filledRegistry());
        search.setQuery(QStringLiteral("tag:nightly"));
        QCOMPARE(search.versionCount(), 1);
        QCOMPARE(search.tree().rowCount(), 1);
        const Facet& tags = search.facets().at(1);
        QCOMPARE(tags.field, QStringLiteral("tag"));
        for (const FacetEntry& entry : tags.entries) {
            QCOMPARE(entry.chosen, entry.value == QStringLiteral("nightly"));
        }
    }

    void brokenQuery_keepsWhatIsShownAndPointsAtTheCharacter() {
        TaskPool pool(0);
        RegistrySearch search(pool);
        search.setRegistry(filledRegistry());
        search.setQuery(QStringLiteral("broken"));
        QCOMPARE(search.errorText(), QStringLiteral("Unknown field at character 3. Take it out."));
        QCOMPARE(search.errorPosition(), 2);
        QCOMPARE(search.versionCount(), 15);
        search.setQuery({});
        QVERIFY(search.errorText().isEmpty());
    }

    void answersOutOfOrder_showOnlyTheNewest() {
        TaskPool pool(2);
        RegistrySearch search(pool);
        search.setRegistry(filledRegistry());
        search.setQuery(QStringLiteral("tag:prod"));
        search.setQuery(QStringLiteral("attn"));
        QTRY_VERIFY(pool.isIdle());
        QCOMPARE(search.versionCount(), 12);
    }

    void changedVersion_isShownWhereItStands() {
        TaskPool pool(0);
        RegistrySearch search(pool);
        RegistryTreeModel& tree = search.tree();
        search.setRegistry(filledRegistry());
        const QModelIndex minilm = tree.find(QStringLiteral("model/minilm"));
        tree.fetchMore(minilm);
        tree.fetchMore(tree.index(0, 0, minilm));
        const QModelIndex row = tree.index(0, 0, tree.index(0, 0, minilm));
        auto version = row.data(RegistryTreeModel::VersionRole).value<VersionInfo>();
        version.verdict = QStringLiteral("pass");
        QSignalSpy changed(&tree, &QAbstractItemModel::dataChanged);
        tree.updateVersion(version);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(row.data(RegistryTreeModel::VersionRole).value<VersionInfo>().verdict, QStringLiteral("pass"));
    }

    void emptyRegistry_isKnownAsSuch() {
        TaskPool pool(0);
        RegistrySearch search(pool);
        QVERIFY(!search.isEmptyRegistry());
        search.setRegistry(std::make_shared<test::FakeRegistry>());
        QVERIFY(search.isEmptyRegistry());
    }

    void queryText_splitsQuotesAndToggles() {
        QCOMPARE(splitQuery(QStringLiteral("a  tag:\"two words\" b")),
                 QStringList({QStringLiteral("a"), QStringLiteral("tag:\"two words\""), QStringLiteral("b")}));
        QCOMPARE(queryTerm(QStringLiteral("tag"), QStringLiteral("two words")), QStringLiteral("tag:\"two words\""));
        QCOMPARE(queryTerm(QStringLiteral("model"), QStringLiteral("x")), QStringLiteral("model=x"));
        QVERIFY(isQueryTerm(QStringLiteral("params>1M")));
        QVERIFY(isQueryTerm(QStringLiteral("-tag:old")));
        QVERIFY(!isQueryTerm(QStringLiteral("attn")));
        QVERIFY(!isQueryTerm(QStringLiteral("tag:")));
        const QString with = queryWithTermToggled(QStringLiteral("attn"), QStringLiteral("tag:prod"));
        QCOMPARE(with, QStringLiteral("attn tag:prod"));
        QCOMPARE(queryWithTermToggled(with, QStringLiteral("tag:prod")), QStringLiteral("attn"));
    }
};

} // namespace modulelens::models

using modulelens::models::RegistrySearchTest;
ML_TEST_MAIN(RegistrySearchTest)

#include "tst_RegistrySearch.moc"
