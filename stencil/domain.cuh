// domain.cuh: the cells, and what stands beyond their edge.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

/// What a stencil finds beyond the edge of the domain. keep: nothing; cells whose stencil would reach past
/// the edge stay as they were. zero: zeros. clamp: the nearest cell. periodic: the domain again.
enum class Boundary { keep, zero, clamp, periodic };

/// nx x ny x nz cells; cell (x, y, z) is in[(z * ny + y) * nx + x]. A program in one or two dimensions has
/// sides of 1, and calls the functions with as many coordinates as it has.
struct Domain {
    int64_t nx, ny = 1, nz = 1;
    Boundary boundary = Boundary::keep;

    __host__ __device__ int64_t count() const { return nx * ny * nz; }
    __host__ __device__ int64_t index(int64_t x, int64_t y, int64_t z = 0) const {
        return (z * ny + y) * nx + x;
    }

    /// Do the cells begin..end - 1 and their neighbours up to `radius` away all exist on this axis? A
    /// block that asks so for its tile on every axis, and gets a yes, needs none of the functions below.
    __host__ __device__ bool inner_x(int64_t begin, int64_t end, int radius) const {
        return inner(begin, end, nx, radius);
    }
    __host__ __device__ bool inner_y(int64_t begin, int64_t end, int radius) const {
        return inner(begin, end, ny, radius);
    }
    __host__ __device__ bool inner_z(int64_t begin, int64_t end, int radius) const {
        return inner(begin, end, nz, radius);
    }

    /// Moves a coordinate on an axis of `side` cells to the cell that the rule takes; false where it
    /// takes none.
    __host__ __device__ bool place(int64_t& at, int64_t side) const {
        if (at >= 0 && at < side) return true;
        if (boundary == Boundary::clamp) at = at < 0 ? 0 : side - 1;
        // One step, unless the domain is less than the reach; a division would cost every kernel registers.
        if (boundary == Boundary::periodic)
            while (at < 0 || at >= side) at += at < 0 ? side : -side;
        return boundary == Boundary::clamp || boundary == Boundary::periodic;
    }

    /// The value at any place, under the rule. Under `keep` there is none beyond the edge (0, which no
    /// cell uses).
    template <typename T>
    __host__ __device__ T read(const T* in, int64_t x) const {
        return place(x, nx) ? in[x] : T(0);
    }
    template <typename T>
    __host__ __device__ T read(const T* in, int64_t x, int64_t y) const {
        return place(x, nx) && place(y, ny) ? in[index(x, y)] : T(0);
    }
    template <typename T>
    __host__ __device__ T read(const T* in, int64_t x, int64_t y, int64_t z) const {
        return place(x, nx) && place(y, ny) && place(z, nz) ? in[index(x, y, z)] : T(0);
    }

    /// Does this cell of the domain stay as it was (`keep`, and its stencil reaches past the edge)?
    __host__ __device__ bool stays(int64_t x, int radius) const {
        return boundary == Boundary::keep && !inner_x(x, x + 1, radius);
    }
    __host__ __device__ bool stays(int64_t x, int64_t y, int radius) const {
        return boundary == Boundary::keep && !(inner_x(x, x + 1, radius) && inner_y(y, y + 1, radius));
    }
    __host__ __device__ bool stays(int64_t x, int64_t y, int64_t z, int radius) const {
        return boundary == Boundary::keep &&
               !(inner_x(x, x + 1, radius) && inner_y(y, y + 1, radius) && inner_z(z, z + 1, radius));
    }

 private:
    static __host__ __device__ bool inner(int64_t begin, int64_t end, int64_t side, int radius) {
        return begin >= radius && end <= side - radius;
    }
};
