// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/cli/Arguments.h"

#include <algorithm>

namespace modulelens::cli {

namespace {

constexpr std::size_t kAny = 1'000'000;

const std::vector<OptionSpec> kCommon = {
    {"registry", "PLACE", "folder, or wandb:ENTITY/REGISTRY (default: MODULELENS_REGISTRY, else the user's data folder)"},
    {"json", "", "one JSON document on standard output"},
    {"timeout", "SECONDS", "end with exit code 8 after this time"},
    {"help", "", "show this text"},
    {"version", "", "show the version of the program"},
};

const std::vector<OptionSpec> kRun = {
    {"call", "N", "which captured call, from 0"},
    {"device", "DEVICE", "cpu, cuda:0, ... (default: cpu)"},
    {"threads", "N", "intra-op threads"},
    {"ops-library", "FILE", "load this library of operators first; may stand several times"},
    {"trust", "", "consent to the code and pickles that this needs; remembered for each file"},
};

const std::vector<OptionSpec> kEngine = {
    {"engine", "ENGINE", "program, or source: rebuilt from its class by a Python worker (default: program)"},
    {"python", "PATH", "interpreter of the Python worker (default: MODULELENS_PYTHON, the active environment, python3)"},
    {"python-path", "DIR", "the Python worker imports from this folder first; may stand several times"},
};

const std::vector<OptionSpec> kMeasure = {
    {"repetitions", "N", "samples of each side or point (default: 50, of a sweep 20)"},
    {"budget", "SECONDS", "ends the samples early (default: 3, of each point of a sweep 1)"},
};

std::vector<OptionSpec> with(const std::vector<OptionSpec>& base, std::vector<OptionSpec> more) {
    more.insert(more.end(), base.begin(), base.end());
    return more;
}

std::vector<VerbSpec> makeVerbs() {
    return {
        {"import", "PATH...", 1, kAny,
         "Add captures (a bundle folder, a .mlens file, a folder of bundles) or models (.pt2, TorchScript, AOTInductor).",
         with(kCommon, {{"model", "NAME", "name of the model (default: the file's name)"},
                        {"input", "VALUE", "an input: float32[1,512], int64[8]:0..99, 16000, x=...; several"},
                        {"ops-library", "FILE", "load this library of operators first; may stand several times"},
                        {"trust", "", "consent to reading the code and pickles of these files; remembered"}})},
        {"search", "[QUERY...]", 0, kAny, "List versions; see docs/cli.md for the query language.",
         with(kCommon,
              {{"limit", "N", "versions on a page, 1 to 1000 (default: 50)"},
               {"cursor", "C", "next_cursor of the page before"},
               {"sort", "KEY", "newest, oldest, name, parameters, latency, flops, bytes, activation or peak (default: newest)"},
               {"facets", "", "counts by model, class, tag, device and dtype as well"},
               {"saved", "NAME", "begin with the search that was saved by this name"},
               {"save", "NAME", "save the search by this name; with an empty query it is forgotten"}})},
        {"show", "VERSION", 1, 1, "What a version holds.",
         with(kCommon, {{"tensors", "", "statistics of the inputs and outputs of a call"},
                        {"source", "", "the source of its class"},
                        {"call", "N", "which captured call, from 0"}})},
        {"tree", "VERSION", 1, 1, "Its module hierarchy with FLOPs, parameters and the time in the traced run.",
         with(kCommon, {{"depth", "N", "levels below the module"}, {"operators", "", "operators too, not only modules"}})},
        {"rebuild", "VERSION", 1, 1, "Load its program and weights and run it once on the captured inputs.",
         with(with(kCommon, kRun), kEngine)},
        {"validate", "VERSION...", 0, kAny, "Run on the captured inputs and compare with the captured outputs.",
         with(with(with(kCommon, kRun), kEngine),
              {{"query", "QUERY", "all versions that the query finds, in one worker"},
               {"all", "", "all versions of the run, at or below the one named, in the order they ran"},
               {"repeats", "N", "runs, to see whether results differ between them (default: 5)"},
               {"oracle", "", "compare with a float64 run even when all bits are equal"},
               {"backward", "", "the gradients too, with those of a capture that has them"}})},
        {"profile", "VERSION", 1, 1, "Measure time, FLOPs and memory by module and operator.",
         with(with(with(kCommon, kRun), kEngine), {{"all", "", "all scopes, not only the 50 heaviest"},
                                                   {"backward", "", "the backward pass too"},
                                                   {"train", "OPTIMIZER", "a whole training step with sgd, adam or adamw"}})},
        {"memory", "VERSION", 1, 1, "Parameters, gradients, activations and peaks by module, and a timeline of allocations.",
         with(with(with(kCommon, kRun), kEngine), {{"all", "", "all scopes, not only the 50 largest"},
                                                   {"train", "OPTIMIZER", "the step with sgd, adam or adamw"}})},
        {"benchmark", "VERSION [OTHER]", 1, 2, "Time a version, or OTHER against VERSION in pairs, with a verdict.",
         with(with(with(kCommon, kRun), kEngine),
              with(kMeasure, {{"mode", "MODE", "hot, cold, host_e2e or graph (default: hot)"},
                              {"seed", "N", "decides the order in the pairs (default: 0)"},
                              {"against-worker", "COMMAND", "measure the second side in another worker"}}))},
        {"verify", "VERSION", 1, 1,
         "Give edited source the captured state and inputs: compare with the captured outputs, and time it in pairs.",
         with(with(kCommon, kRun),
              with(kMeasure,
                   {{"source", "FILE", "FILE or FILE:CLASS; its classes take the place of captured ones of the same name"},
                    {"edit", "",
                     "instead of --source: the captured source, in a file of yours that is written when it is missing"},
                    {"python-path", "DIR", "a changed checkout to import from; may stand several times"},
                    {"python", "PATH", "interpreter of the Python worker"},
                    {"no-benchmark", "", "only compare"},
                    {"mode", "MODE", "as for benchmark (default: hot)"},
                    {"watch", "", "again on every save, until interrupted"}}))},
        {"sweep", "VERSION", 1, 1, "Latency, throughput and memory over the sizes that a program leaves open.",
         with(with(kCommon, kRun), with(kMeasure, {{"dim", "NAME=V,V...", "a dimension and its values; once for each"},
                                                   {"mode", "MODE", "as for benchmark (default: hot)"}}))},
        {"calibrate", "", 0, 0, "Measure and keep the peaks of a device: memory bandwidth, FLOPs, cost of clock and operator.",
         with(kCommon, {{"device", "DEVICE", "cpu, cuda:0, ... (default: cpu)"},
                        {"threads", "N", "intra-op threads"},
                        {"budget", "SECONDS", "for all measurements together (default: 10)"}})},
        {"tag", "ACTION VERSION NAME...", 3, kAny,
         "Label a version. ACTION: add, remove (tags), alias, unalias, set (KEY=VALUE), unset (attributes).", kCommon},
        {"delete", "VERSION...", 1, kAny, "Move versions to the registry's trash.",
         with(kCommon, {{"dry-run", "", "only say what would be deleted"}})},
        {"export", "VERSION... DIR", 2, kAny, "Write versions back as capture bundles below DIR.", kCommon},
        {"note", "VERSION [TEXT...]", 1, kAny, "Show a version's note, or set it; an empty text takes it away.", kCommon},
        {"link", "VERSION [KIND OTHER]", 1, 3,
         "Show where a version comes from, or say so. KIND: derived-from, candidate-of, merged-from.",
         with(kCommon, {{"remove", "", "take the link away"}})},
        {"registry", "ACTION [ARGUMENTS]", 1, kAny,
         "Keep the registry in order. ACTION: verify, gc, stats, move DIR, trash, restore ID..., recover; with a team's "
         "registry at "
         "W&B: publish VERSION..., fetch VERSION..., queue [remove ID], cache [clear].",
         with(kCommon, {{"team", "ADDRESS", "publish, fetch: wandb:ENTITY/REGISTRY (default: MODULELENS_TEAM_REGISTRY)"},
                        {"query", "QUERY", "publish, fetch: all versions that the query finds"},
                        {"dry-run", "", "gc: only say what would be removed"},
                        {"older-than", "DAYS", "gc: leave what was deleted later in the trash (default: 0)"}})},
        {"consent", "[list | forget SHA256]", 0, 2,
         "List the files that you consented to, or take consent back: all whose sha256 begins so.", kCommon},
        {"open", "[VERSION]", 0, 1, "Start the explorer, on a version if one is given.", kCommon},
    };
}

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text;
}

constexpr const char* kExitCodes = R"(Exit codes:
  0 ok                     7 worker, library or device missing    12 consent needed
  1 internal fault         8 time limit reached                   13 network or sign-in
  2 usage, already exists  9 corrupt or unsupported input         14 regression
  3 not found             10 storage full or not permitted       130 cancelled
  4 validation mismatch   11 worker died, out of memory

VERSION is MODEL::MODULE@vN, MODEL::MODULE@ALIAS, MODEL::MODULE (the latest), or a version's id.
)";

} // namespace

const std::vector<VerbSpec>& verbs() {
    static const std::vector<VerbSpec> table = makeVerbs();
    return table;
}

const std::vector<OptionSpec>& commonOptions() {
    return kCommon;
}

std::string helpText(const VerbSpec* verb) {
    constexpr std::size_t kNameWidth = 12;
    constexpr std::size_t kOptionWidth = 20;
    std::string text;
    const std::vector<OptionSpec>* options = &kCommon;
    if (verb == nullptr) {
        text = "Usage: modulelens VERB [ARGUMENTS] [OPTIONS]\n\nVerbs:\n";
        for (const VerbSpec& each : verbs()) {
            text += "  " + padded(std::string(each.name), kNameWidth) + std::string(each.help) + '\n';
        }
        text += "\nmodulelens VERB --help shows the options of a verb.\n";
    } else {
        text = "Usage: modulelens " + std::string(verb->name) + ' ' + std::string(verb->positionals) + " [OPTIONS]\n\n" +
               std::string(verb->help) + '\n';
        options = &verb->options;
    }
    text += "\nOptions:\n";
    for (const OptionSpec& option : *options) {
        const std::string name =
            "--" + std::string(option.name) + (option.value.empty() ? std::string() : ' ' + std::string(option.value));
        text += "  " + padded(name, kOptionWidth) + std::string(option.help) + '\n';
    }
    return text + '\n' + kExitCodes;
}

} // namespace modulelens::cli
