// star_2d.cu: five points in two dimensions; who remembers a cell until its last neighbour has had it?
//
// Idea:   naive   a thread a cell: five loads, of which L1 answers four.
//         shared  the block loads its tile and the halo once, and reads five cells from there.
//         rows    a thread takes a pack of 16 bytes (V = 4 floats or 2 doubles) in each of ROWS rows, one
//                 below the other, and holds them and the row above and below in registers:
//
//                     row -1           [pack]             each inner row is used three times,
//                     row  0      west [pack] east        loaded once
//                     ...
//                     row ROWS         [pack]
//
//                 The two cells beside a pack belong to the neighbours' packs; L1 has just got those.
// Speed:  all ROWS + 2 packs are in flight before the first is used, and nobody waits at a barrier. More
//         rows a thread need fewer halo rows, (ROWS + 2) / ROWS loads for each row stored; but also more
//         registers, so fewer threads are there to have loads in flight, and the blocks at work reach over
//         more rows at a time than the memory likes: the table shows where that turns.
// Edge:   no block is special. Each row and each side cell is looked up where the rule finds it, which in
//         the inner of the domain is two comparisons.
// Cost:   rows must be multiples of 16 bytes. Where they are not, a pack is one cell: a quarter (double:
//         half) of the bytes in flight, and as many times the instructions.
// Wrong still: nothing to win in one step; it moves what the copy moves. temporal_2d.cu takes several.
// Code:   the kernels are in plane_rungs.cuh; what is the star's own is its formula.
// Texts: none has two dimensions; text 2's stencil_1d is in shared_1d.cu.
#include "plane_rungs.cuh"

struct FivePoints {
    template <typename T, typename At>
    static __device__ T of(const Coefficients<T>& c, const At& at) {
        return five_points(c, at);
    }
};

int main(int argc, char** argv) {
    Stencil ladder("star_2d", "The 5-point stencil: naive, from a tile, from rows in registers.", argc, argv,
                   star_2d, 1);
    ladder.variant("naive", "a thread a cell, five loads",
                   [](const auto& t) { launch_naive<FivePoints>(t); });
    ladder.variant("shared", "tile[10][34]: each cell and the halo loaded once",
                   [](const auto& t) { launch_shared<FivePoints>(t); });
    ladder.variant("rows_1", "16 bytes a load, one row a thread",
                   [](const auto& t) { launch_rows<FivePoints, 1>(t); });
    ladder.variant("rows_2", "two rows and their halo in registers",
                   [](const auto& t) { launch_rows<FivePoints, 2>(t); });
    ladder.variant("rows_4", "four rows and their halo in registers",
                   [](const auto& t) { launch_rows<FivePoints, 4>(t); });
    return ladder.run();
}
