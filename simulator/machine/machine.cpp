#include "machine/machine.hpp"

#include <algorithm>
#include <cstring>

namespace ladder {
namespace {
constexpr uint64_t SLICE = 10000, TURN = 4000000, IDLE_LIMIT = 20000000;
constexpr int IDLE_ROUNDS = 64;
constexpr char SHARED_POISON = '\xCD';

/// Starts blocks, cluster by cluster, and gives them turns.
class Scheduler {
 public:
    explicit Scheduler(Launch& launch) : launch_(launch) {
        for (int k = 0; k < 3; ++k) clusters_[k] = launch.grid[k] / launch.cluster[k];
        total_ = clusters_[0] * clusters_[1] * clusters_[2];
    }

    void run() {
        while (next_ < total_ || !live_.empty()) {
            // More and more at a time, where all wait for blocks that have not started.
            const size_t more = live_.empty() ? 1 : stalled_ && has_room() ? 1 + live_.size() / 16 : 0;
            for (size_t k = 0; k < more && (live_.empty() || has_room()); ++k) start_cluster();
            while (launch_.cooperative && next_ < total_) start_cluster();
            round();
        }
    }

 private:
    bool has_room() const { return live_.size() + launch_.cluster_size() <= launch_.resident; }

    void start_cluster() {
        if (next_ >= total_) return;
        unsigned c = next_++;
        unsigned at[3] = {c % clusters_[0], c / clusters_[0] % clusters_[1],
                          c / (clusters_[0] * clusters_[1])};
        const unsigned *size = launch_.cluster, *grid = launch_.grid;
        clusters_live_.push_back(std::make_unique<Cluster>());
        Cluster* cluster = clusters_live_.back().get();
        for (unsigned r = 0; r < launch_.cluster_size(); ++r) {
            unsigned x = at[0] * size[0] + r % size[0], y = at[1] * size[1] + r / size[0] % size[1];
            unsigned z = at[2] * size[2] + r / (size[0] * size[1]);
            if (spare_.empty()) spare_.push_back(std::make_unique<Block>());
            std::unique_ptr<Block> block = std::move(spare_.back());
            spare_.pop_back();
            block->cluster = cluster;
            block->rank = r;
            cluster->blocks.push_back(block.get());
            block->start(launch_, (z * grid[1] + y) * grid[0] + x);
            live_.push_back(std::move(block));
        }
    }

    /// One turn for each block that runs.
    void round() {
        uint64_t done = 0;
        bool any_progress = false;
        for (auto& block : live_) {
            uint64_t turn = 0;
            bool progress = true;
            while (progress && !block->ended && turn < TURN) turn += block->step(progress);
            any_progress |= progress || block->ended;
            // Nothing outside of it can wake a block that waits at its own barriers.
            if (turn == 0 && !block->ended && block->cluster->blocks.size() == 1) block->deadlock();
            done += turn;
        }
        retire();
        stalled_ = !live_.empty();
        if (any_progress || (next_ < total_ && has_room())) {
            idle_ = 0;
            rounds_ = 0;
            return;
        }
        idle_ += done;
        if ((done == 0 || ++rounds_ % IDLE_ROUNDS == 0) && release_spinning()) return;
        const bool waiting = next_ < total_;
        if (done != 0 && idle_ <= (waiting ? IDLE_LIMIT / 10 : IDLE_LIMIT)) return;
        live_.front()->deadlock(waiting ? say(" ", (total_ - next_) * launch_.cluster_size(),
                                              " blocks have not started: an H200 holds ", launch_.resident,
                                              " of this kernel at once.")
                                        : "");
    }

    void retire() {
        for (size_t k = clusters_live_.size(); k-- > 0;) {
            auto& blocks = clusters_live_[k]->blocks;
            if (!std::all_of(blocks.begin(), blocks.end(), [](Block* b) { return b->ended; })) continue;
            // The blocks of a cluster lie together, in the order of the clusters.
            auto first = live_.begin() + k * blocks.size(), last = first + blocks.size();
            std::move(first, last, std::back_inserter(spare_));
            live_.erase(first, last);
            clusters_live_.erase(clusters_live_.begin() + k);
        }
    }

    bool release_spinning() {
        bool released = false;
        for (auto& block : live_)
            for (Warp& w : block->warps)
                if (!w.done()) released |= w.release_joins();
        return released;
    }

    Launch& launch_;
    unsigned clusters_[3], total_, next_ = 0;
    std::vector<std::unique_ptr<Block>> live_, spare_;
    std::vector<std::unique_ptr<Cluster>> clusters_live_;
    bool stalled_ = false;
    uint64_t idle_ = 0, rounds_ = 0;
};
}  // namespace

void Block::start(Launch& l, uint32_t number) {
    launch = &l;
    index = number;
    id[0] = number % l.grid[0];
    id[1] = number / l.grid[0] % l.grid[1];
    id[2] = number / (l.grid[0] * l.grid[1]);
    ended = false;
    start_time = next_time();
    shared.size = l.shared_layout.empty() ? 0 : l.shared_layout.back().end;
    shared_storage.assign(shared.size + 16, SHARED_POISON);
    shared.data = shared_storage.data();
    shared.kind = RegionKind::Shared;
    shared.what = "shared memory";
    shared.variables = &l.shared_layout;
    shared.tracked = true;
    shared.written.reset(shared.size);
    in_flight.assign(shared.size / 4 + 4, 0);
    copies_in_flight = 0;
    mbarriers.clear();
    remote.clear();
    std::fill_n(barriers, CLUSTER_BARRIER, Barrier());
    live_threads = l.threads();
    warps.resize(l.warps_per_block);
    for (int k = 0; k < l.warps_per_block; ++k) {
        int rest = live_threads - k * LANES;
        warps[k].start(*this, k, rest >= LANES ? ~0u : (1u << rest) - 1);
    }
}

uint64_t Block::step(bool& progress) {
    uint64_t n = 0;
    progress = false;
    size_t done = 0;
    for (Warp& w : warps) {
        if (w.runnable()) {
            n += w.run(SLICE);
            progress |= !w.spinning || w.changed_memory;
        }
        done += w.done();
    }
    ended = done == warps.size();
    if (ended)
        check_remote();
    else
        progress |= complete_barriers();
    return n;
}

bool Block::complete_barriers() {
    bool any = false;
    for (int k = 0; k < CLUSTER_BARRIER; ++k) {
        Barrier& b = barriers[k];
        if (!b.arrived || b.arrived < (b.expected ? b.expected : live_threads)) continue;
        std::vector<Warp*> members;
        for (Warp& w : warps)
            if (b.warps >> w.id & 1) members.push_back(&w);
        if (!b.expected) check_members(k, *members[0]);
        sync_warps(members);
        for (Warp* w : members) w->resume_barrier(k);
        b = Barrier();
        any = true;
    }
    return cluster->complete_if_full() || any;
}

/// Warps that used this barrier before and have ended do not reach it: their loop ran less often.
void Block::check_members(int barrier, Warp& member) {
    int missing = 0;
    for (Warp& w : warps) {
        if (!w.done())
            w.barriers_used |= 1 << barrier;
        else if (w.barriers_used >> barrier & 1)
            ++missing;
    }
    if (!missing) return;
    for (const Path& p : member.paths)
        if (p.barrier == barrier)
            report(member, p.instruction(), std::countr_zero(p.mask),
                   {"divergent barrier",
                    say(missing,
                        " warps that met at this barrier before have ended and do not reach it again.")});
}

/// A block whose shared memory others use must not end before it knows that they are done.
void Block::check_remote() {
    for (auto& [number, access] : remote) {
        bool known = std::any_of(warps.begin(), warps.end(), [&, n = number, time = access.time](Warp& w) {
            return w.clock.known.others && n < w.clock.known.others->size() &&
                   (*w.clock.known.others)[n].knows(time, access.lane);
        });
        if (!known)
            report(*access.warp, *access.in, access.lane,
                   {"use after end",
                    "The block whose shared memory this is may end before: a cluster barrier must keep it "
                    "alive.",
                    say("shared memory of block ", index)});
    }
    remote.clear();
}

bool Cluster::complete_if_full() {
    int live = 0;
    for (Block* b : blocks) live += b->live_threads;
    if (!arrived || arrived < live) return false;
    arrived = 0;
    phase ^= 1;
    completed = std::move(clock);
    clock.clear();
    for (Block* b : blocks)
        for (Warp& w : b->warps) {
            bool waits = std::any_of(w.paths.begin(), w.paths.end(),
                                     [](auto& p) { return p.barrier == CLUSTER_BARRIER; });
            if (waits && races_on) acquire_from(w, completed);
            w.resume_barrier(CLUSTER_BARRIER);
        }
    return true;
}

void Block::deadlock(const std::string& besides) {
    auto stuck = std::find_if(warps.begin(), warps.end(), [](Warp& w) {
        return !w.done() && (w.poll || std::any_of(w.paths.begin(), w.paths.end(),
                                                   [](const Path& p) { return p.barrier >= 0; }));
    });
    if (stuck == warps.end())
        stuck = std::find_if(warps.begin(), warps.end(), [](Warp& w) { return !w.done(); });
    Warp& w = *stuck;
    auto waiting =
        std::find_if(w.paths.rbegin(), w.paths.rend(), [](const Path& p) { return p.barrier >= 0; });
    bool waits = waiting != w.paths.rend() && (besides.empty() || !w.poll);
    const Instruction& in = waits       ? waiting->instruction()
                            : w.poll    ? *w.poll
                            : w.running ? w.code[w.pc]
                                        : w.paths.back().instruction();
    std::string sentence = "This loop waits for a value that no running thread will write.";
    if (waits && waiting->barrier == CLUSTER_BARRIER) {
        sentence = "Some threads of the cluster never arrive at its barrier.";
    } else if (waits) {
        const Barrier& b = barriers[waiting->barrier];
        sentence = say("Barrier ", waiting->barrier, " waits for ", b.expected ? b.expected : live_threads,
                       " threads, but only ", b.arrived, " can reach it.");
    } else if (in.text.starts_with("mbarrier")) {
        sentence =
            "The mbarrier's phase never completes: fewer threads arrive, or fewer bytes, than it waits for.";
    }
    report(w, in, waits ? std::countr_zero(waiting->mask) : 0, {"deadlock", sentence + besides});
    throw LaunchStop{ERROR_LAUNCH_TIMEOUT};
}

void execute(Launch& launch) {
    launch.warps_per_block = (launch.threads() + LANES - 1) / LANES;
    launch.start_time = next_time();
    launch.shared_layout = launch.function->shared_layout;
    launch.shared_bytes = launch.function->shared_bytes;
    launch.dynamic_offset = place_shared(launch.shared_layout, launch.shared_bytes, "dynamic shared memory",
                                         launch.dynamic_shared, launch.function->dynamic_alignment);
    ++launch.profile->launches;
    Scheduler(launch).run();
}
}  // namespace ladder
