// box_2d.cu: nine points, the corners too. The same three rungs as star_2d.cu: is a cell that nine need as cheap as
// one that five need?
//
// Idea:   naive   nine loads a cell, of which L1 answers eight.
//         shared  nine reads of the tile; the halo has corners now.
//         rows    as in star_2d.cu; of the halo rows, too, the cells on either side are needed.
// Speed:  the bytes from memory are the star's. What grows is the traffic behind it: nearly twice as many
//         loads from L1 (naive), twice as many reads of shared memory (shared), but for rows only two more
//         loads of one cell for each halo row, since a register is read as often as one likes.
// Cost:   and wrong still: as in star_2d.cu.
// Code:   the kernels are in plane_rungs.cuh; what is the box's own is its formula.
// Texts: none has two dimensions.
#include "plane_rungs.cuh"

/// The box of radius 1. at(dx, dy): the cell so far away.
struct NinePoints {
    template <typename T, typename At>
    static __device__ T of(const Coefficients<T>& c, const At& at) {
        return c[0] * at(0, 0) +                                          //
               c[1] * at(-1, -1) + c[2] * at(0, -1) + c[3] * at(1, -1) +  //
               c[4] * at(-1, 0) + c[5] * at(1, 0) +                       //
               c[6] * at(-1, 1) + c[7] * at(0, 1) + c[8] * at(1, 1);
    }
};

int main(int argc, char** argv) {
    Stencil ladder("box_2d", "The 9-point stencil: naive, from a tile, from rows in registers.", argc, argv,
                   box_2d, 1);
    ladder.variant("naive", "a thread a cell, nine loads",
                   [](const auto& t) { launch_naive<NinePoints>(t); });
    ladder.variant("shared", "tile[10][34]: each cell and the halo loaded once",
                   [](const auto& t) { launch_shared<NinePoints>(t); });
    ladder.variant("rows_1", "16 bytes a load, one row a thread",
                   [](const auto& t) { launch_rows<NinePoints, 1>(t); });
    ladder.variant("rows_2", "two rows and their halo in registers",
                   [](const auto& t) { launch_rows<NinePoints, 2>(t); });
    ladder.variant("rows_4", "four rows and their halo in registers",
                   [](const auto& t) { launch_rows<NinePoints, 4>(t); });
    return ladder.run();
}
