#include <mttl/mttl.hpp>
#include <cstdio>

struct word { std::string text; int seen = 0; };    // an own type, which travels so:
template <> struct mttl::serial<word> {
    static void put(writer &w, const word &x) { serial<std::string>::put(w, x.text), w.raw(x.seen); }
    static word get(reader &r) { std::string t = serial<std::string>::get(r); return {t, r.raw<int>()}; }
};
int counted = 0;

int main(int argc, char **argv)
{
    return mttl::run(argc, argv, [](int, char **) {
        using namespace mttl;
        const int last = nodes() - 1;
        promise<int> p;                             // a result that somebody here sets
        thread_handle t = spawn([&] { p.set_value(invoke(last, [] { return 1; })); });
        int one = p.get_future().get();
        t.join();                                   // throws what the thread threw
        {
            batch b;                                // small messages go together
            for (int i = 0; i < 100; ++i)
                post(last, [](int n) { counted += n; }, one);
        }
        double x = 0;
        Landing<double> in(&x, 1, last);            // where writes of node `last` land
        in.arm();                                   // the next one
        post(last, [](LandingPtr<double> to) { const double half = 0.5; to.write(&half, 1); }, in.handle());
        in.wait();
        auto words = VirtualNodes<word>::create(8); // 8 words, spread over the processes
        words.invoke(3, [](word &w) { w.text = "three", ++w.seen; });
        words.move(3, last).get();                  // what is sent to it follows
        word three = words.invoke(3, [](word &w) { return w; });
        std::vector<future<int>> sums;
        for (int to = 0; to < nodes(); ++to)
            sums.push_back(ainvoke(to, [] {         // all members make them, in the same order
                Barrier all;
                all.exec();
                return Reduction<int>().exec(my_node());
            }));
        int sum = when_all(std::move(sums)).get()[0], got = invoke(last, [] { return counted; });
        std::printf("%d %g %s %d %d\n", got, x, three.text.c_str(), three.seen, sum);
        return 0;
    });
}
