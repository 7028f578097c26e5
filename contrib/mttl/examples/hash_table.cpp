/*
 * A distributed hash table: a key lives on the node that its hash says.  Words
 * are counted by all nodes at once; small messages are sent in batches.
 *
 *   mpirun -np 4 hash_table
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mttl/mttl.hpp>

#include <unordered_map>

namespace {

std::unordered_map<std::string, long> part;     // each node has its own

int node_of(const std::string &key)
{
    size_t h = 5381;        // std::hash need not be the same on all nodes
    for (const char c : key)
        h = 33 * h + static_cast<unsigned char>(c);
    return static_cast<int>(h % static_cast<size_t>(mttl::nodes()));
}

void add(const std::string &key, long n)
{
    mttl::post(node_of(key), [](std::string k, long m) { part[k] += m; }, key, n);
}

mttl::future<long> get(const std::string &key)
{
    return mttl::ainvoke(node_of(key), [](std::string k) { return part[k]; }, key);
}

constexpr int words = 100, times = 50;

void count()
{
    {
        mttl::batch together;       // until its end, or until there are enough
        for (int t = 0; t < times; ++t)
            for (int w = 0; w < words; ++w)
                add("word" + std::to_string(w), w);
    }
    // A node starts what one thread sends to it in order: when this is answered, all is counted.
    for (int node = 0; node < mttl::nodes(); ++node)
        mttl::invoke(node, [] {});
}

} // namespace

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, [](int, char **) {
        std::vector<mttl::future<void>> counting;
        for (int node = 0; node < mttl::nodes(); ++node)
            counting.push_back(mttl::ainvoke(node, mttl::fn<count>));
        mttl::when_all(std::move(counting)).get();

        std::vector<mttl::future<long>> all;        // all are asked before the first has answered
        for (int w = 0; w < words; ++w)
            all.push_back(get("word" + std::to_string(w)));
        const std::vector<long> counts = mttl::when_all(std::move(all)).get();
        bool good = true;
        for (int w = 0; w < words; ++w)
            good &= counts[static_cast<size_t>(w)] == long(w) * times * mttl::nodes();
        std::printf("%d words on %d nodes, word7 counts %ld: %s\n", words, mttl::nodes(), counts[7], good ? "right" : "WRONG");
        return good ? 0 : 1;
    });
}
