#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

int64_t parse_size(const std::string& name, const std::string& text, int64_t low, int64_t high) {
    static const std::map<std::string, int64_t> factors = {
        {"", 1},         {"k", 1000},     {"M", 1000000}, {"G", 1000000000},
        {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}};
    const auto refuse = [&] {
        return UsageError(
            fmt::format("{}: '{}' is not a whole number from {} to {} (suffixes: k M G Ki Mi Gi)", name, text,
                        low, high));
    };
    const size_t sign = !text.empty() && text[0] == '-';
    const size_t digits_end = std::min(text.find_first_not_of("0123456789", sign), text.size());
    const auto factor = factors.find(text.substr(digits_end));
    if (digits_end == sign || factor == factors.end()) throw refuse();
    int64_t value = 0;
    for (size_t i = sign; i < digits_end; ++i) {
        const int digit = text[i] - '0';
        if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) throw refuse();
        value = value * 10 + digit;
    }
    if (value > std::numeric_limits<int64_t>::max() / factor->second) throw refuse();
    value *= sign ? -factor->second : factor->second;
    if (value < low || value > high) throw refuse();
    return value;
}

struct CommandLine::Parser {
    CLI::App app;
    Options options;
    struct Size {
        int64_t *value, low, high, small;
    };
    std::vector<std::pair<std::string, Size>> sizes;
    std::vector<std::pair<std::string, std::variant<int64_t*, double*, std::string*>>> values;
    std::vector<std::string> shorthands;

    /// An option with a number, read by parse_size.
    template <typename Number>
    CLI::Option* number(const std::string& name, Number& value, int64_t low, int64_t high,
                        const std::string& help) {
        const std::string first = name.substr(0, name.find(','));
        return app
            .add_option_function<std::string>(
                name,
                [&value, first, low, high](const std::string& text) {
                    value = static_cast<Number>(parse_size(first, text, low, high));
                },
                help)
            ->type_name("N");
    }

    /// An option that names a file to be written.
    void file(const std::string& name, std::optional<std::string>& value, const std::string& help) {
        app.add_option_function<std::string>(
               name, [&value](const std::string& text) { value = text; }, help)
            ->type_name("FILE");
    }

    /// An option that takes one of some words; an empty value means that it has no default.
    void choice(const std::string& name, std::string& value, const std::vector<std::string>& words,
                const std::string& help) {
        app.add_option_function<std::string>(
               name,
               [&value, name, words](const std::string& text) {
                   if (std::find(words.begin(), words.end(), text) == words.end())
                       throw UsageError(
                           fmt::format("{}: '{}' is not one of {}", name, text, fmt::join(words, ", ")));
                   value = text;
               },
               value.empty() ? help : fmt::format("{} (default {})", help, value))
            ->type_name(fmt::format("{}", fmt::join(words, "|")));
    }
};

CommandLine::CommandLine(const std::string& program, const std::string& about) : parser(new Parser) {
    CLI::App& app = parser->app;
    Options& o = parser->options;
    app.name(program);
    app.description(about);
    app.set_help_flag();  // ours answers without CLI11's exception
    app.get_formatter()->column_width(34);
    app.add_flag("-h,--help", o.help, "this text");
    app.add_flag("--list", o.list, "the variants of this program, a line each");
    app.add_option("--variant", o.variants, "run only these (and the ceiling they are measured against)")
        ->type_name("NAME ...");
    parser->number("--repeats,--num-repeats", o.repeats, 1, 1000000,
                   fmt::format("samples of each variant (default {})", NUM_REPEATS));
    parser->number("--warmup", o.warmup_ms, 0, 60000,
                   "milliseconds of warm-up for each variant (default 50)");
    app.add_option_function<std::string>(
           "--batch",
           [&o](const std::string& text) {
               o.batch = text == "auto" ? 0 : static_cast<int>(parse_size("--batch", text, 1, 1000000));
           },
           "launches per sample; auto (default): enough to fill 100 us")
        ->type_name("N|auto");
    app.add_flag("--cold", o.cold, "flush the L2 cache before each sample");
    parser->choice("--check", o.check, {"full", "none"}, "none: for profilers, the table says unchecked");
    parser->number("--seed", o.seed, 0, std::numeric_limits<int64_t>::max(),
                   "seed of the random inputs (default 1)");
    parser->number("--device", o.device, 0, 1023, "which GPU, as CUDA numbers those it sees (default 0)");
    app.add_flag("--print", o.print, "show the data of a small problem");
    app.add_flag("--times", o.times, "show each sample, and keep them in the records");
    parser->file("--json", o.json_file, "write the records as JSON Lines");
    parser->file("--csv", o.csv_file, "write the records as CSV");
    app.add_flag("--quiet", o.quiet, "no table, only the records and the exit code");
    app.add_flag("--profile", o.profile, "one launch of each variant, no timing: for Nsight Compute");
    app.add_flag("--simulate", o.simulate,
                 "run on the CPU simulator: counts and checks, no times, no GPU needed");
    app.add_flag("--explain", o.explain, "with --simulate: the counts of each source line, the worst first");
    parser->choice("--sizes", o.sizes, {"sweep", "test", "large"},
                   "print the sizes that the scripts run, a line of options each");
}

CommandLine::~CommandLine() = default;

void CommandLine::size(const std::string& name, int64_t& value, int64_t low, int64_t high, int64_t small,
                       const std::string& help) {
    number(name, value, low, high, help);
    parser->sizes.push_back({name, {&value, low, high, small}});
}

void CommandLine::size_of_all(const std::string& name, const std::vector<std::string>& sizes,
                              const std::string& help) {
    CLI::Option* all = parser->app.add_option_function<std::string>(
        name,
        [this, name, sizes](const std::string& text) {
            for (const auto& [size, s] : parser->sizes)
                if (std::count(sizes.begin(), sizes.end(), size))
                    *s.value = parse_size(name, text, s.low, s.high);
        },
        help);
    all->type_name("N");
    for (const std::string& size : sizes) all->excludes(parser->app.get_option(size));
    parser->shorthands.push_back(name);
}

void CommandLine::number(const std::string& name, int64_t& value, int64_t low, int64_t high,
                         const std::string& help) {
    parser->number(name, value, low, high, fmt::format("{} (default {})", help, value));
    parser->values.push_back({name, &value});
}

void CommandLine::real(const std::string& name, double& value, double low, double high,
                       const std::string& help) {
    parser->app
        .add_option_function<std::string>(
            name,
            [&value, name, low, high](const std::string& text) {
                char* end = nullptr;
                const double given = std::strtod(text.c_str(), &end);
                if (text.empty() || *end || !(low <= given && given <= high))
                    throw UsageError(
                        fmt::format("{}: '{}' is not a number from {} to {}", name, text, low, high));
                value = given;
            },
            fmt::format("{} (default {})", help, value))
        ->type_name("X");
    parser->values.push_back({name, &value});
}

void CommandLine::types(const std::vector<std::string>& names) {
    parser->options.type = names.front();
    parser->choice("--type", parser->options.type, names, "element type");
}

void CommandLine::choice(const std::string& name, std::string& value, const std::vector<std::string>& choices,
                         const std::string& help) {
    parser->choice(name, value, choices, help);
    parser->values.push_back({name, &value});
}

void CommandLine::text(const std::string& name, std::string& value, const std::string& what,
                       const std::string& help) {
    parser->app.add_option(name, value, help)->type_name(what);
}

Options CommandLine::parse(int argc, const char* const* argv, const std::vector<std::string>& variants,
                           bool simulated) {
    // CLI11 takes the word after an option as its value, whatever it is.
    for (int i = 1; i + 1 < argc; ++i) {
        const CLI::Option* option = parser->app.get_option_no_throw(argv[i]);
        if (option && option->get_expected_min() > 0 && parser->app.get_option_no_throw(argv[i + 1]))
            throw UsageError(fmt::format("{}: its value is missing ({} is an option)", argv[i], argv[i + 1]));
    }
    try {
        parser->app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::string line = error.what();
        std::replace(line.begin(), line.end(), '\n', ' ');
        throw UsageError(line);
    }
    const bool shorthand =
        std::any_of(parser->shorthands.begin(), parser->shorthands.end(),
                    [this](const std::string& name) { return parser->app.count(name) > 0; });
    for (const auto& [name, s] : parser->sizes)
        if (simulated && !shorthand && !parser->app.count(name)) *s.value = s.small;
    for (const std::string& name : parser->options.variants)
        if (std::find(variants.begin(), variants.end(), name) == variants.end())
            throw UsageError(
                fmt::format("--variant: '{}' is not one of {}", name, fmt::join(variants, ", ")));
    return parser->options;
}

OptionValues CommandLine::values() const {
    OptionValues all;
    for (const auto& [name, place] : parser->values)
        std::visit([&all, key = name.substr(2)](auto* value) { all.emplace_back(key, *value); }, place);
    return all;
}

std::string CommandLine::help_text() const {
    return parser->app.help();
}

std::string CommandLine::size_names() const {
    std::vector<std::string> names = parser->shorthands;
    for (const auto& size : parser->sizes) names.push_back(size.first);
    return fmt::format("{}", fmt::join(names, ", "));
}
