// banks.cu: what a bank conflict costs, in cycles: the patterns that the texts name, and some more.
//
// Idea:   shared memory has 32 banks, 4 bytes wide. A request of a warp takes as many wavefronts as the
//         busiest bank has different words, and a wavefront takes a cycle. So N lanes at N words of one bank
//         should cost N cycles, lanes at the same word nothing more; elements of 8 and 16 bytes go by halves
//         and quarters of the warp.
// How:    load latency: one warp, each load gives the address of the next. load, store: many warps, and no
//         request waits for another one. All in cycles of the multiprocessor's clock, a request of a warp.
// --set:  table: the text's three patterns, conflicts by powers of two, the columns of padded tiles; ways:
//         N = 1 to 32; strides: 1 to 64 elements. --type: elements of 4, 8 and 16 bytes.
// Checked: where the chain ends, the sum of what was loaded, the words stored last.
// Text 3, the table of access patterns, and padding; text 1, banks.
#include "banks.cuh"

void add_table(Banks& ladder) {
    const auto add = [&](const std::string& name, const std::string& note, const Pattern& p) {
        ladder.pattern(name, note, p).set = "table";
    };
    add("parallel", "32 elements in a row", stride_of(1));
    add("broadcast", "all lanes at one element", stride_of(0));
    add("multicast", "eight elements, four lanes at each", pattern_of([](int lane) { return lane / 4; }));
    for (const int n : {2, 4, 8, 16, 32})
        add("serial_" + std::to_string(n), std::to_string(n) + " lanes a bank, at different words",
            ways_of(n));
    for (const int pad : {0, 1, 2, 4})
        add("column_pad_" + std::to_string(pad), "a column of tile[32][" + std::to_string(32 + pad) + "]",
            stride_of(32 + pad));
}

void add_ways(Banks& ladder) {
    for (int n = 1; n <= 32; ++n)
        ladder.pattern("ways_" + std::to_string(n), std::to_string(n) + " lanes a bank", ways_of(n)).set =
            "ways";
}

void add_strides(Banks& ladder) {
    for (int s = 1; s <= 64; ++s)
        ladder
            .pattern("stride_" + std::to_string(s), std::to_string(s) + " elements from lane to lane",
                     stride_of(s))
            .set = "strides";
}

int main(int argc, char** argv) {
    Banks ladder("banks", "Cycles for a request to shared memory, by its pattern.", argc, argv);
    ladder.family.set = "table";
    ladder.program.command_line.choice("--set", ladder.family.set, {"table", "ways", "strides"},
                                       "which patterns");
    ladder.program.sweep_sizes = {"--set table --type float", "--set table --type double",
                                  "--set table --type float4", "--set ways", "--set strides"};
    for (const char* type : {"float", "double", "float4"})
        for (const char* test : {"--steps 1 --set table", "--steps 17 --set ways", "--steps 7 --set strides"})
            ladder.program.test_sizes.push_back(std::string(test) + " --type " + type);
    add_table(ladder);
    add_ways(ladder);
    add_strides(ladder);
    return ladder.run();
}
