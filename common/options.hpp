// options.hpp: one command line for all programs.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// How often each variant is timed unless --repeats says otherwise (the tutorial texts' name; they took 10).
constexpr int NUM_REPEATS = 50;

/// A command line that cannot be carried out. what() is one line that names the option and what it allows.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The values of a problem's own options by name, without the dashes: {"rows", 8192}, {"alpha", 1.5}, {"op", "sum"}.
using OptionValues = std::vector<std::pair<std::string, std::variant<int64_t, double, std::string>>>;

/// What every program understands. The problem's own sizes belong to the family.
struct Options {
    std::vector<std::string> variants;  ///< empty: all
    std::string type;
    int repeats = NUM_REPEATS;
    double warmup_ms = 50;       ///< for each variant
    int batch = 0;               ///< launches per sample; 0: as many as fill 100 us
    bool cold = false;           ///< flush the L2 cache before each sample
    std::string check = "full";  ///< full or none
    uint64_t seed = 1;
    int device = 0;
    bool print = false, times = false, quiet = false, profile = false;
    bool simulate = false, explain = false;
    std::optional<std::string> json_file, csv_file;
    bool help = false, list = false;
    std::string sizes;  ///< sweep, test or large: print those sizes; empty: run
};

/// A whole number, with an optional suffix: k, M, G (powers of 1000) or Ki, Mi, Gi (powers of 1024).
/// Throws UsageError "--name: ..." unless low <= value <= high.
int64_t parse_size(const std::string& name, const std::string& text, int64_t low, int64_t high);

class CommandLine {
 public:
    CommandLine(const std::string& program, const std::string& about);
    ~CommandLine();

    /// Adds an option for a size of the problem, low to high. Where it is not given, `value` stays as it is; in a
    /// simulated run, which takes some thousand times longer, it becomes `small`.
    void size(const std::string& name, int64_t& value, int64_t low, int64_t high, int64_t small,
              const std::string& help);
    /// Adds an option that sets several sizes to one number, and cannot be given beside them.
    void size_of_all(const std::string& name, const std::vector<std::string>& sizes, const std::string& help);
    /// Adds an option for a number that is no size of the problem (threads a block, an offset).
    void number(const std::string& name, int64_t& value, int64_t low, int64_t high, const std::string& help);
    /// Adds an option for a real number. Where it is not given, `value` stays as it is.
    void real(const std::string& name, double& value, double low, double high, const std::string& help);
    /// The names that --type takes; the first is the default.
    void types(const std::vector<std::string>& names);
    /// Adds an option that takes one of `choices`; the value that it has now is the default.
    void choice(const std::string& name, std::string& value, const std::vector<std::string>& choices,
                const std::string& help);
    /// Adds an option for a text that is not part of the problem (where to write something). `what`: FILE, ...
    void text(const std::string& name, std::string& value, const std::string& what, const std::string& help);
    /// Reads the command line. Throws UsageError; --help and --list only set their flags. `simulated`: sizes that are
    /// not given are small.
    Options parse(int argc, const char* const* argv, const std::vector<std::string>& variants,
                  bool simulated = false);
    /// The problem's own options as they were parsed, defaults too, in the order in which they were added.
    OptionValues values() const;
    std::string help_text() const;
    /// "--rows, --cols": the sizes, for a message that asks for less.
    std::string size_names() const;

 private:
    struct Parser;
    std::unique_ptr<Parser> parser;
};
