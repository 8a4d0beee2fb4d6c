// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/ProgramArchive.h"
#include "tests/support/MemoryFile.h"
#include "tests/support/TestMain.h"
#include "tests/support/ZipWriter.h"

#include <QTest>

using namespace modulelens;
using test::ZipEntry;

namespace {

const char* const kModel = R"({"schema_version": {"major": 8, "minor": 20}, "graph_module": {
    "graph": {"inputs": [{"as_tensor": {"name": "c"}}, {"as_tensor": {"name": "x"}}], "outputs": [{"as_tensor": {"name": "x"}}], "nodes": [],
              "tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {}},
    "signature": {"input_specs": [{"tensor_constant": {"arg": {"name": "c"}, "tensor_constant_name": "c"}},
                                  {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
                  "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "x"}}}}]}}})";

std::string constants(const std::string& pickled, const std::string& sizes, const std::string& offset = "0") {
    return R"({"config": {"c": {"path_name": "tensor_0", "is_param": false, "use_pickle": )" + pickled +
           R"(, "tensor_meta": {"dtype": 7, "sizes": [)" + sizes + R"(], "strides": [{"as_int": 1}], "requires_grad": false,
           "device": {"type": "cpu", "index": null}, "storage_offset": {"as_int": )" +
           offset + R"(}, "layout": 7}}}})";
}

std::vector<ZipEntry> entries() {
    return {
        {"program/models/model.json", kModel},
        {"program/data/constants/model_constants_config.json", constants("false", R"({"as_int": 3})")},
        {"program/data/constants/tensor_0", std::string(12, 'c')},
        {"program/data/sample_inputs/model.pt", ""},
        {"program/byteorder", "little"},
        {"program/extra/modulelens.json",
         R"({"schema_version": 1, "inputs": ["/args/0"], "outputs": ["/output"], "modules": {"": "pkg:Top"}})"},
    };
}

base::Result<graph::ProgramArchive> read(const std::vector<ZipEntry>& all) {
    return graph::readProgramArchive(test::memoryFile(test::makeZip(all)), "a.pt2");
}

} // namespace

class ProgramArchiveTest : public QObject {
    Q_OBJECT

    void refuses(const std::vector<ZipEntry>& all, base::ErrorCode code, const char* part) {
        const auto archive = read(all);
        QVERIFY(!archive);
        QVERIFY2(archive.error().code == code, archive.error().text().c_str());
        QVERIFY2(archive.error().message.find(part) != std::string::npos, archive.error().text().c_str());
    }

private slots:
    void archive_isReadWhole() {
        const auto archive = read(entries());
        QVERIFY2(archive, archive ? "" : archive.error().text().c_str());
        const std::string zip = test::makeZip(entries());
        const graph::ArchivedTensor& constant = archive->constants.at("c");
        QCOMPARE(zip.substr(constant.offset, constant.sizeBytes), std::string(12, 'c'));
        QCOMPARE(archive->program->inputPointers, std::vector<std::string>{"/args/0"});
        QCOMPARE(archive->program->moduleClasses.at(""), std::string("pkg:Top"));
    }

    void archiveWithinAnotherFile_isReadByItsSlice() {
        const std::string zip = test::makeZip(entries());
        const auto slice = base::sliceOf(test::memoryFile("before" + zip + "after"), 6, zip.size());
        QVERIFY(slice);
        QVERIFY(graph::readProgramArchive(*slice, "slice"));
    }

    void pickledMembers_areUnsupported() {
        for (const char* name : {"data/sample_inputs/model.pt", "data/sample_inputs/other", "data/x.pkl", "data/weights/w.pth",
                                 "data/constants/custom_obj_0", "data/constants/opaque_obj_3"}) {
            auto all = entries();
            std::erase_if(all, [&](const ZipEntry& entry) { return entry.name == std::string("program/") + name; });
            all.push_back({std::string("program/") + name, "pickle"});
            refuses(all, base::ErrorCode::Unsupported, "never reads a pickle");
            QVERIFY(!graph::checkArchiveIsSafe(test::memoryFile(test::makeZip(all)), "a.pt2"));
        }
    }

    void pickledPayload_isUnsupportedHoweverItIsWritten() {
        auto all = entries();
        for (const std::string& text : {constants("true", R"({"as_int": 3})"), constants("\n 1", R"({"as_int": 3})")}) {
            all[1].data = text;
            refuses(all, base::ErrorCode::Unsupported, "never reads a pickle");
        }
        std::string escaped = constants("true", R"({"as_int": 3})");
        escaped.replace(escaped.find("use_pickle"), 10, "use\\u005fpickle");
        all[1].data = escaped;
        refuses(all, base::ErrorCode::Unsupported, "never reads a pickle");
    }

    void constantBeyondItsMember_isCorrupt() {
        auto all = entries();
        all[1].data = constants("false", R"({"as_int": 4})");
        refuses(all, base::ErrorCode::Corrupt, "reaches beyond");
        all[1].data = constants("false", R"({"as_int": 3})", "1");
        refuses(all, base::ErrorCode::Corrupt, "reaches beyond");
        all[1].data = constants("false", R"({"as_int": 9223372036854775807})", "9223372036854775807");
        refuses(all, base::ErrorCode::Corrupt, "overflows");
        all[1].data = constants("false", R"({"as_expr": {"expr_str": "s0", "hint": null}})");
        refuses(all, base::ErrorCode::Corrupt, "symbolic");
        all[2].name = "program/data/constants/tensor_1";
        all[1].data = constants("false", R"({"as_int": 3})");
        refuses(all, base::ErrorCode::Corrupt, "has no member");
    }

    void otherRootFolders_areCorrupt() {
        auto all = entries();
        all[4].name = "other/byteorder";
        refuses(all, base::ErrorCode::Corrupt, "root folder");
        refuses({}, base::ErrorCode::Corrupt, "empty");
    }

    void bigEndian_isUnsupported() {
        auto all = entries();
        all[4].data = "big";
        refuses(all, base::ErrorCode::Unsupported, "big-endian");
    }

    void missingGraph_isCorrupt() {
        auto all = entries();
        all.erase(all.begin());
        refuses(all, base::ErrorCode::Corrupt, "models/model.json");
    }

    void leafMapOfAnotherLength_isCorrupt() {
        auto all = entries();
        all[5].data = R"({"schema_version": 1, "inputs": [], "outputs": ["/output"], "modules": {}})";
        refuses(all, base::ErrorCode::Corrupt, "another number");
        all[5].data = R"({"schema_version": 2, "inputs": ["/args/0"], "outputs": ["/output"], "modules": {}})";
        refuses(all, base::ErrorCode::Unsupported, "version 2");
    }

    void programWithoutSidecar_isReadToo() {
        auto all = entries();
        all.pop_back();
        QVERIFY(read(all));
    }
};

ML_TEST_MAIN(ProgramArchiveTest)
#include "tst_ProgramArchive.moc"
