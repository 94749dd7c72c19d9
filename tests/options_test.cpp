#include "options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

// A program with the sizes --rows, --cols and --n and the variants a and b.
struct Parsed {
    int64_t rows = 8192, cols = 8192, block = 128;
    double alpha = 1;
    std::string op = "sum", folder;
    Options options;
    OptionValues values;

    explicit Parsed(std::vector<const char*> arguments, bool simulated = false) {
        CommandLine line("family/program", "about");
        line.types({"float", "double"});
        line.size("--rows", rows, 0, 2000000000, 256, "rows");
        line.size("--cols", cols, 1, 2000000000, 192, "columns");
        line.size_of_all("--n", {"--rows", "--cols"}, "both");
        line.number("--block", block, 32, 1024, "threads");
        line.choice("--op", op, {"sum", "max"}, "operator");
        line.real("--alpha", alpha, -10, 10, "factor");
        line.text("--folder", folder, "DIRECTORY", "where to");
        arguments.insert(arguments.begin(), "program");
        options = line.parse(static_cast<int>(arguments.size()), arguments.data(), {"a", "b"}, simulated);
        values = line.values();
    }
};

std::string error_of(std::vector<const char*> arguments) {
    try {
        Parsed parsed(arguments);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST(Options, Defaults) {
    const Parsed p({});
    EXPECT_EQ(p.rows, 8192);
    EXPECT_EQ(p.options.repeats, NUM_REPEATS);
    EXPECT_EQ(p.options.type, "float");
    EXPECT_EQ(p.options.batch, 0);
    EXPECT_EQ(p.options.check, "full");
    EXPECT_EQ(p.options.seed, 1u);
    EXPECT_FALSE(p.options.cold || p.options.profile || p.options.simulate || p.options.help);
    EXPECT_EQ(p.folder, "");
}

TEST(Options, AFileIsTakenAsItIs) {
    EXPECT_EQ(Parsed({"--folder", "a b"}).folder, "a b");
    EXPECT_THROW(Parsed({"--folder"}), UsageError);
}

TEST(Options, Values) {
    const Parsed p({"--rows",   "3", "--cols=4",  "--type", "double", "--num-repeats", "7",
                    "--warmup", "0", "--batch",   "5",      "--cold", "--check",       "none",
                    "--seed",   "9", "--variant", "b",      "a",      "--json",        "x.jsonl"});
    EXPECT_EQ(p.rows, 3);
    EXPECT_EQ(p.cols, 4);
    EXPECT_EQ(p.options.type, "double");
    EXPECT_EQ(p.options.repeats, 7);
    EXPECT_EQ(p.options.warmup_ms, 0);
    EXPECT_EQ(p.options.batch, 5);
    EXPECT_TRUE(p.options.cold);
    EXPECT_EQ(p.options.check, "none");
    EXPECT_EQ(p.options.seed, 9u);
    EXPECT_EQ(p.options.variants, (std::vector<std::string>{"b", "a"}));
    EXPECT_EQ(p.options.json_file, "x.jsonl");
    EXPECT_EQ(Parsed({"--batch", "auto"}).options.batch, 0);
}

TEST(Options, OneNumberForAllSizes) {
    const Parsed p({"--n", "128"});
    EXPECT_EQ(p.rows, 128);
    EXPECT_EQ(p.cols, 128);
    EXPECT_NE(error_of({"--n", "0"}).find("--n: '0' is not a whole number from 1"),
              std::string::npos);  // --cols' range
}

TEST(Options, ASimulatedRunIsSmallUnlessToldOtherwise) {
    EXPECT_EQ(Parsed({}, true).rows, 256);
    EXPECT_EQ(Parsed({}, true).cols, 192);
    EXPECT_EQ(Parsed({"--rows", "7"}, true).rows, 7);
    EXPECT_EQ(Parsed({"--rows", "7"}, true).cols, 192);
    EXPECT_EQ(Parsed({"--n", "9"}, true).cols, 9);
}

TEST(Options, TheProblemIsWhatWasParsed) {
    const Parsed p({"--rows", "2", "--op", "max", "--folder", "here"});
    EXPECT_EQ(p.folder, "here");  // and no part of it
    EXPECT_EQ(p.values, (OptionValues{{"rows", int64_t{2}},
                                      {"cols", int64_t{8192}},
                                      {"block", int64_t{128}},
                                      {"op", "max"},
                                      {"alpha", 1.0}}));
}

TEST(ParseSize, Suffixes) {
    const auto size = [](const char* text) { return parse_size("--n", text, 0, INT64_MAX); };
    EXPECT_EQ(size("0"), 0);
    EXPECT_EQ(size("100"), 100);
    EXPECT_EQ(size("2k"), 2000);
    EXPECT_EQ(size("3M"), 3000000);
    EXPECT_EQ(size("4G"), 4000000000);
    EXPECT_EQ(size("2Ki"), 2048);
    EXPECT_EQ(size("2Mi"), 2097152);
    EXPECT_EQ(size("4Gi"), 4294967296);
    EXPECT_EQ(size("9223372036854775807"), INT64_MAX);
    EXPECT_EQ(parse_size("--x", "-2k", -5000, 0), -2000);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
    for (const char* text :
         {"", "-", "x", "1x", "1 ", " 1", "1.5", "1e6", "0x10", "k", "1kk", "1K", "--", "+1", "-1",
          "9223372036854775808", "99999999999999999999", "9223372036854775807k", "8589934592Gi"})
        EXPECT_THROW(parse_size("--n", text, 0, INT64_MAX), UsageError) << "'" << text << "'";
}

TEST(Options, EachErrorNamesItsOptionAndRange) {
    EXPECT_EQ(error_of({"--rows", "-5"}),
              "--rows: '-5' is not a whole number from 0 to 2000000000 (suffixes: k M G Ki Mi Gi)");
    EXPECT_EQ(error_of({"--cols", "0"}),
              "--cols: '0' is not a whole number from 1 to 2000000000 (suffixes: k M G Ki Mi Gi)");
    EXPECT_EQ(error_of({"--rows", "2000000001"}),
              "--rows: '2000000001' is not a whole number from 0 to 2000000000 (suffixes: k M G Ki Mi Gi)");
    EXPECT_EQ(error_of({"--repeats", "0"}),
              "--repeats: '0' is not a whole number from 1 to 1000000 (suffixes: k M G Ki Mi Gi)");
    EXPECT_EQ(error_of({"--type", "int"}), "--type: 'int' is not one of float, double");
    EXPECT_EQ(error_of({"--check", "some"}), "--check: 'some' is not one of full, none");
    EXPECT_EQ(error_of({"--variant", "c"}), "--variant: 'c' is not one of a, b");
    EXPECT_EQ(error_of({"--batch", "many"}),
              "--batch: 'many' is not a whole number from 1 to 1000000 (suffixes: k M G Ki Mi Gi)");
}

TEST(Options, AnOptionIsNoValueOfAnother) {
    EXPECT_EQ(error_of({"--json", "--quiet"}), "--json: its value is missing (--quiet is an option)");
    EXPECT_EQ(error_of({"--variant", "--simulate"}),
              "--variant: its value is missing (--simulate is an option)");
    EXPECT_EQ(error_of({"--quiet", "--cold"}), "");
    EXPECT_EQ(*Parsed({"--json=--quiet"}).options.json_file, "--quiet");  // meant so
    EXPECT_EQ(*Parsed({"--json", ""}).options.json_file, "");             // refused when it is opened
}

TEST(Options, RealNumbers) {
    EXPECT_EQ(Parsed({"--alpha", "-2.5e-1"}).alpha, -0.25);
    for (const char* text : {"", "x", "1x", "11", "-10.5", "nan", "inf"})
        EXPECT_EQ(error_of({"--alpha", text}),
                  std::string("--alpha: '") + text + "' is not a number from -10 to 10");
}

TEST(Options, WhatCannotBeCarriedOut) {
    EXPECT_NE(error_of({"--nonsense"}).find("--nonsense"), std::string::npos);
    EXPECT_NE(error_of({"stray"}).find("stray"), std::string::npos);
    EXPECT_NE(error_of({"--rows"}).find("--rows"), std::string::npos);                      // no value
    EXPECT_NE(error_of({"--rows", "1", "--rows", "2"}).find("--rows"), std::string::npos);  // which?
    EXPECT_NE(error_of({"--n", "1", "--rows", "2"}).find("--n"), std::string::npos);
    EXPECT_NE(error_of({"--device", "-1"}).find("--device"), std::string::npos);
    EXPECT_NE(error_of({"--seed", "-1"}).find("--seed"), std::string::npos);
    for (auto arguments :
         std::vector<std::vector<const char*>>{{"--nonsense"}, {"--rows"}, {"stray", "words"}})
        EXPECT_EQ(error_of(arguments).find('\n'), std::string::npos);  // one line
}

TEST(Options, HelpNamesEveryOption) {
    CommandLine line("family/program", "what it is about");
    int64_t rows = 5;
    line.size("--rows", rows, 0, 10, 1, "rows of A");
    const std::string help = line.help_text();
    for (const char* word : {"what it is about",
                             "--help",
                             "--list",
                             "--variant",
                             "--repeats",
                             "--num-repeats",
                             "--warmup",
                             "--batch",
                             "--cold",
                             "--seed",
                             "--device",
                             "--json",
                             "--csv",
                             "--print",
                             "--check",
                             "--quiet",
                             "--profile",
                             "--simulate",
                             "--explain",
                             "--sizes",
                             "rows of A (default 5)"})
        EXPECT_NE(help.find(word), std::string::npos) << word;
}
