// ladder.hpp: a program of any family. It names its variants, and runs.
//
// A family is a class that says what its problem is, and nothing else (README.md, "Adding a family"):
//
//   struct Transpose {
//       static constexpr const char* NAME = "transpose";
//       using Types = TypeList<float, double>;     the element types, the default first; TypeList<void>: no --type
//       struct Traits { bool copies = false; };    what a program may say of a variant beside its launch
//       template <typename T> struct Task {...};   what a launch gets
//       explicit Transpose(Program&);              adds the family's options and sizes
//       std::string nothing_to_do() const;         why an empty problem is one, or ""; UsageError for a wrong one
//       template <typename T> struct Work {        the problem at one element type:
//           static double host_bytes(const Transpose&);            host memory that it will fill
//           Work(const Transpose&, const Program&);                buffers, inputs, reference
//           Task<T> task;
//           void describe(Problem&) const;         headline, rates, working set, ceiling
//           void poison();                         0xFF into all that a variant may write
//           Comparison check(const Traits&);       what was last computed, against the CPU reference
//       };
//   };
//
// It may also have: `template <typename L> static void add_ceiling(L& ladder)`, a row that every program has; in Work,
// `void describe(Variant&, const Traits&)`, what the harness needs to know of a variant beside launch and check; and
// `void show(const std::string& variant)` for --print. `template <typename T> bool chosen() const` says which of the
// Types the command line asks for, where that is more than --type.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "device_memory.cuh"
#include "program.hpp"

template <typename...>
struct TypeList {};

/// What --type calls an element type.
template <typename T>
constexpr const char* TYPE_NAME = "";
template <>
inline constexpr const char* TYPE_NAME<float> = "float";
template <>
inline constexpr const char* TYPE_NAME<double> = "double";
template <>
inline constexpr const char* TYPE_NAME<int> = "int";

/// A function for each type of a list: Function<T> is a std::function. One generic lambda gives all of them.
template <template <typename> class Function, typename List>
class PerType;
template <template <typename> class Function, typename... T>
class PerType<Function, TypeList<T...>> {
 public:
    PerType() = default;
    template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, PerType>>>
    PerType(F function) : functions{Function<T>(function)...} {}
    template <typename U>
    Function<U>& of() {
        return std::get<index<U>()>(functions);
    }
    template <typename U>
    const Function<U>& of() const {
        return std::get<index<U>()>(functions);
    }

 private:
    template <typename U>
    static constexpr size_t index() {
        constexpr bool is_it[] = {std::is_same_v<T, U>...};
        size_t i = 0;
        while (!is_it[i]) ++i;
        return i;
    }
    std::tuple<Function<T>...> functions;
};

namespace contract {

template <template <typename> class Member, typename T, typename = void>
constexpr bool has = false;
template <template <typename> class Member, typename T>
constexpr bool has<Member, T, std::void_t<Member<T>>> = true;

template <typename F>
using Name = decltype(std::string(F::NAME));
template <typename F>
using Types = typename F::Types;
template <typename F>
using Traits = typename F::Traits;
template <typename F>
using NothingToDo = decltype(std::string(std::declval<const F&>().nothing_to_do()));
template <typename F>
using Chosen = decltype(&F::template chosen<void>);
template <typename W>
using Task = decltype(std::declval<W&>().task);
template <typename W>
using Describe = decltype(std::declval<const W&>().describe(std::declval<Problem&>()));
template <typename W>
using Poison = decltype(std::declval<W&>().poison());
template <typename W>
using Show = decltype(std::declval<W&>().show(std::string()));

template <typename T>
T first_of(TypeList<T>);
template <typename T, typename... More>
std::enable_if_t<(sizeof...(More) > 0), T> first_of(TypeList<T, More...>);

}  // namespace contract

template <typename Family>
class Ladder {
    static_assert(contract::has<contract::Name, Family>, "a family says NAME, a string: that of its folder");
    static_assert(contract::has<contract::Types, Family>,
                  "a family says Types, a TypeList of its element types");
    static_assert(contract::has<contract::Traits, Family>, "a family says struct Traits, which may be empty");
    static_assert(contract::has<contract::NothingToDo, Family>,
                  "a family has std::string nothing_to_do() const: why an empty problem is one, or \"\"");

 public:
    using Types = typename Family::Types;
    template <typename T>
    using Task = typename Family::template Task<T>;
    template <typename T>
    using Work = typename Family::template Work<T>;
    template <typename T>
    using Launch = std::function<void(Work<T>&)>;
    /// Why a variant cannot run on this device with this task, or "".
    template <typename T>
    using Obstacle = std::function<std::string(const DeviceInfo&, const Task<T>&)>;

    /// A variant as a program declares it.
    struct Entry : Label, Family::Traits {
        PerType<Launch, Types> launch = {};
        PerType<Obstacle, Types> obstacle = {};

        Entry& unless(PerType<Obstacle, Types> why) {
            obstacle = std::move(why);
            return *this;
        }
    };

    /// `about`: one sentence for --help. What follows goes to the family.
    template <typename... ForFamily>
    Ladder(const char* name, const char* about, int argc, char** argv, ForFamily&&... for_family)
        : program(Family::NAME, name, about, argc, argv),
          family(program, std::forward<ForFamily>(for_family)...) {
        add_ceiling_of<Family>(0);
    }

    /// A rung: launch(task), for each of the types or for `Only` those that are named. It enqueues all of the work on
    /// the default stream.
    template <typename... Only, typename L>
    Entry& variant(const std::string& name, const std::string& note, L launch) {
        return add<Only...>({name, note, Role::rung}, on_task(launch));
    }
    /// What the rungs are measured against.
    template <typename... Only, typename L>
    Entry& ceiling(const std::string& name, const std::string& note, L launch) {
        return add<Only...>({name, note, Role::ceiling}, on_task(launch));
    }
    /// The vendor's library.
    template <typename... Only, typename L>
    Entry& baseline(const std::string& name, const std::string& note, L launch) {
        return add<Only...>({name, note, Role::baseline}, on_task(launch));
    }
    /// The family's own ceiling, for add_ceiling(): launch(work).
    template <typename L>
    Entry& ceiling_of_work(const std::string& name, const std::string& note, L launch) {
        return add({name, note, Role::ceiling}, launch);
    }

    /// main's last line: the exit code.
    int run() {
        offer_types(Types());
        return program.run({entries.begin(), entries.end()}, [this] {
            if (program.options.print && !shows) throw UsageError("--print: there is nothing to show here");
            const std::string nothing = family.nothing_to_do();
            if (!nothing.empty()) return program.nothing_to_do(nothing);
            program.open_device();
            return measure_chosen(Types());
        });
    }

    Program program;
    Family family;

 private:
    template <typename L>
    static auto on_task(L launch) {
        return [launch](auto& work) { std::invoke(launch, work.task); };
    }
    template <typename... Only, typename L>
    Entry& add(const Label& label, L launch) {
        entries.push_back({label, {}});
        if constexpr (sizeof...(Only) == 0)
            entries.back().launch = launch;
        else
            ((entries.back().launch.template of<Only>() = launch), ...);
        return entries.back();
    }
    template <typename F>
    auto add_ceiling_of(int) -> decltype(F::add_ceiling(std::declval<Ladder&>())) {
        F::add_ceiling(*this);
    }
    template <typename F>
    void add_ceiling_of(...) {}

    /// --type takes the types that some rung has; sizes of the others are dropped.
    template <typename... T>
    void offer_types(TypeList<T...>) {
        if constexpr (!contract::has<contract::Chosen, Family>) {
            std::vector<std::string> offered;
            const auto offer = [&](const std::string& name, bool any) {
                if (name.empty()) return;
                if (any)
                    offered.push_back(name);
                else
                    program.drop_sizes("--type " + name);
            };
            (offer(TYPE_NAME<T>, any_rung<T>()), ...);
            if (!offered.empty()) program.command_line.types(offered);
        }
    }
    template <typename T>
    bool any_rung() const {
        for (const Entry& e : entries)
            if (e.role == Role::rung && e.launch.template of<T>()) return true;
        return false;
    }
    template <typename T>
    bool is_chosen() const {
        if constexpr (contract::has<contract::Chosen, Family>)
            return family.template chosen<T>();
        else
            return program.options.type == TYPE_NAME<T>;
    }
    template <typename... T>
    int measure_chosen(TypeList<T...>) {
        int code = EXIT_USAGE;
        (void)((is_chosen<T>() ? (code = measure<T>(), true) : false) || ...);
        return code;
    }

    template <typename T>
    int measure() {
        using W = Work<T>;
        static_assert(contract::has<contract::Task, W>, "Work<T> has a task, a Task<T>: what a launch gets");
        static_assert(contract::has<contract::Describe, W>,
                      "Work<T> has void describe(Problem&) const: headline, rates, working set, ceiling");
        static_assert(contract::has<contract::Poison, W>,
                      "Work<T> has void poison(): 0xFF into all that a variant may write");
        static_assert(
            std::is_invocable_r_v<Comparison, decltype(&W::check), W&, const typename Family::Traits&>,
            "Work<T> has Comparison check(const Traits&): what was last computed, against the reference");

        check_host_memory(W::host_bytes(family));
        W work(family, program);
        Problem problem = program.problem();
        work.describe(problem);
        problem.poison = [&] { work.poison(); };
        if constexpr (contract::has<contract::Show, W>)
            problem.show = [&](const std::string& variant) { work.show(variant); };
        std::vector<Variant> variants;
        for (const Entry& e : entries) {
            Variant v{e};
            if (const auto& launch = e.launch.template of<T>())
                v.launch = [&work, &launch] { launch(work); };
            else
                v.cannot_run = std::string("not for ") + TYPE_NAME<T>;
            v.check = [&work, &e] { return work.check(e); };
            if (const auto& obstacle = e.obstacle.template of<T>(); obstacle && v.cannot_run.empty())
                v.cannot_run = obstacle(program.device, work.task);
            describe(work, v, e, 0);
            variants.push_back(v);
        }
        return program.measure(problem, variants);
    }
    template <typename W, typename E>
    static auto describe(W& work, Variant& v, const E& e, int) -> decltype(work.describe(v, e)) {
        return work.describe(v, e);
    }
    template <typename W, typename E>
    static void describe(W&, Variant&, const E&, ...) {}

    static constexpr bool shows =
        contract::has<contract::Show, Work<decltype(contract::first_of(std::declval<Types>()))>>;

    std::deque<Entry> entries;
};
