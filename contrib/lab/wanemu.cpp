// SPDX-License-Identifier: BSD-3-Clause
// wanemu: a wide-area network in user space, one TUN device per site.
//
// Reads its configuration (one flat JSON object per line, see emu/control.cpp),
// makes the TUNs inside the sites' namespaces, prints "ready" and forwards until
// SIGTERM. Everything else comes over its control socket. It never touches
// addresses, routes or namespaces: `lab` does. Read next: emu/daemon.h, emu/path.h.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include "emu/daemon.h"

namespace {

std::atomic<bool> stop{false};

void on_signal(int)
{
    stop = true;
}

bool configure(wan::lab::Daemon& daemon, std::istream& in, const char* name)
{
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
        if (line.empty() || line[0] == '#') {
            continue;
        }
        const std::string answer = daemon.command(line);
        if (answer.find("\"ok\":true") == std::string::npos) {
            std::fprintf(stderr, "wanemu: %s, line %d: %s\n", name, number, answer.c_str());
            return false;
        }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc != 2 || std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0) {
        std::fprintf(argc == 2 ? stdout : stderr,
                     "usage: wanemu CONFIGURATION\n"
                     "Emulates a wide-area network; started by `lab up`. The configuration has one\n"
                     "flat JSON object per line, described in contrib/lab/emu/control.cpp.\n");
        return argc == 2 ? 0 : 2;
    }
    struct sigaction action{};
    action.sa_handler = on_signal;   // no SA_RESTART: the wait must end
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    try {
        wan::lab::Daemon daemon;
        std::ifstream file(argv[1]);
        if (!file) {
            std::fprintf(stderr, "wanemu: cannot read %s: %s\n", argv[1], std::strerror(errno));
            return 1;
        }
        std::string why;
        if (!configure(daemon, file, argv[1])) {
            return 1;
        }
        if (!daemon.start(why)) {
            std::fprintf(stderr, "wanemu: %s\n", why.c_str());
            return 1;
        }
        std::puts("ready");
        std::fflush(stdout);
        daemon.run(stop);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "wanemu: %s\n", error.what());
        return 1;
    }
    return 0;
}
