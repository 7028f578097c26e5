/*
 * SimGrid's engine as the simulators without MPI want it: rates are of payload,
 * and nothing is added for acknowledgements or a window.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_ENGINE_HPP
#define SIM_ENGINE_HPP

#include <simgrid/s4u.hpp>

#include <string>
#include <vector>

namespace sim {

class engine {
public:
    /** own: further words, as on a command line. */
    explicit engine(const std::string &program, const std::vector<std::string> &own = {})
        : words_(all(program, own)), pointers_(each(words_)), count_(static_cast<int>(words_.size())), engine_(&count_, pointers_.data())
    {
    }
    void run() { engine_.run(); }

private:
    std::vector<std::string> words_;
    std::vector<char *> pointers_;
    int count_;
    simgrid::s4u::Engine engine_;

    static std::vector<std::string> all(const std::string &program, const std::vector<std::string> &own)
    {
        std::vector<std::string> words{program};
        words.insert(words.end(), own.begin(), own.end());
        for (const char *word : {"--cfg=network/TCP-gamma:1e15", "--cfg=network/crosstraffic:no", "--cfg=contexts/stack-size:256",
                                 "--log=root.thres:warning"})
            words.push_back(word);
        return words;
    }
    static std::vector<char *> each(std::vector<std::string> &words)
    {
        std::vector<char *> pointers;
        for (std::string &word : words)
            pointers.push_back(word.data());
        return pointers;
    }
};

} // namespace sim

#endif
