#include <mttl/mttl.hpp>
#include <cstdio>

int add(int a, int b) { return a + b; }
std::vector<double> part(1000);                     // each process has its own

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, [](int, char **) { // on node 0; the others serve
        using namespace mttl;
        int sum = invoke(1, fn<add>, 2, 3);         // on node 1; this thread waits, the process serves
        future<int> later = ainvoke(1, [](std::string s) { return int(s.size()); }, "hello");
        GlobalPtr<double> p = invoke(1, [] { return GlobalPtr<double>(part.data()); });
        p[3] = 2.5;                                 // a remote write
        std::vector<double> copy(1000);
        p.nread(copy.data(), copy.size());          // in bulk
        std::printf("%d %d %g\n", sum, later.get(), copy[3]);
        return 0;
    });
}
