/*
 * See info_doctor.hpp.  Each finding is a line `good: `, `note: ` or `BAD:  `; what to do
 * about it follows, indented.  Whether jobs find the plugin is asked of contrib/installed,
 * whose text is in this program.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_doctor.hpp"

#include "contrib/info/installed_text.hpp"
#include "info_check.hpp"
#include "info_words.hpp"
#include "wan_config.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace info {

namespace {

/** "good: ", ... and what to do, in lines of their own. */
class findings {
public:
    int bad = 0;
    void good(const std::string &what) { say("good: ", what, ""); }
    void note(const std::string &what, const std::string &remedy = "") { say("note: ", what, remedy); }
    void wrong(const std::string &what, const std::string &remedy)
    {
        ++bad;
        say("BAD:  ", what, remedy);
    }

private:
    static void say(const char *word, const std::string &what, const std::string &remedy)
    {
        std::cout << word << what << "\n";
        std::istringstream lines(remedy);
        for (std::string line; std::getline(lines, line);)
            std::cout << "      " << line << "\n";
    }
};

std::string variable(const char *name, const char *otherwise)
{
    const char *value = std::getenv(name);
    return value && *value ? value : otherwise;
}

std::string in_quotes(const std::string &word)
{
    std::string text = "'";
    for (char c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

/** Standard output of a shell's command; its exit code. */
std::string output_of(const std::string &command, int &code)
{
    std::string text;
    std::cout.flush();
    FILE *pipe = popen(command.c_str(), "r");
    if (!pipe) {
        code = 127;
        return "";
    }
    std::array<char, 4096> part;
    for (size_t n; (n = fread(part.data(), 1, part.size(), pipe)) > 0;)
        text.append(part.data(), n);
    const int status = pclose(pipe);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return text;
}

/** What follows `key` in a line of its own; "": no such line. */
std::string value_in(const std::string &text, const std::string &key)
{
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        if (text.compare(at, key.size(), key) == 0)
            return text.substr(at + key.size(), end - at - key.size());
        at = end + 1;
    }
    return "";
}

/** Numbers of /proc/sys/...; empty: no such file. */
std::vector<int64_t> kernel_values(const std::string &name)
{
    std::string path = "/proc/sys/" + name;
    std::ifstream file(path);
    std::vector<int64_t> values;
    for (int64_t v; file >> v;)
        values.push_back(v);
    return values;
}

struct open_mpi {
    std::string info = variable("OMPI_INFO", "ompi_info");
    std::string version, components, texts;
    std::string all;        // components and parameters, as they are from files and environment

    std::string ask(const std::string &arguments) const
    {
        int code = 0;
        return output_of(in_quotes(info) + " " + arguments + " --parsable 2>/dev/null", code);
    }
    std::string path(const char *kind) const
    {
        return value_in(ask("--path " + std::string(kind)), "path:" + std::string(kind) + ":");
    }
};

/** Why a plugin that is there is not shown. */
void plugin_examine(findings &f, const open_mpi &mpi, const std::string &file)
{
    if (access(file.c_str(), R_OK) != 0) {
        f.wrong(file + " cannot be read", "chmod a+r " + file);
        return;
    }
    // In a child: what a library does when it is loaded is not ours.
    const pid_t child = fork();
    if (child == 0) {
        if (!dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            std::cout << "BAD:  " << file << " cannot be loaded: " << dlerror()
                      << "\n      Build it again on this host (../configure; make; make install), with the compiler "
                         "that this host has.\n";
            std::cout.flush();
            _exit(1);
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
        ++f.bad;
    else
        f.wrong(file + " is there and can be loaded, but Open MPI " + mpi.version + " does not take it",
                "Is it a component of this Open MPI? Configure and build it for this one (--with-ompi=DIR).");
}

/** The plugin among the components; whether it is shown. */
bool plugin_judge(findings &f, const open_mpi &mpi)
{
    const std::string component = value_in(mpi.all, "mca:coll:wan:version:\"component:");
    std::vector<std::string> places;
    std::istringstream path(variable("OMPI_MCA_mca_base_component_path", ""));
    for (std::string part; std::getline(path, part, ':');)
        if (part.starts_with("/")) {
            places.push_back(part);
            if (access(part.c_str(), R_OK | X_OK) != 0)
                f.wrong("OMPI_MCA_mca_base_component_path names " + part
                            + ", which cannot be read: Open MPI ends its search there",
                        "Take it out of the variable, or make the directory.");
        }
    if (!mpi.components.empty())
        places.push_back(mpi.components);
    places.push_back(variable("HOME", "") + "/.openmpi/components");
    std::string file;
    for (const std::string &p : places)
        if (file.empty() && access((p + "/mca_coll_wan.so").c_str(), F_OK) == 0)
            file = p + "/mca_coll_wan.so";
    std::string all;
    for (const std::string &p : places)
        all += "\n  " + p;
    if (const char *set = std::getenv("OMPI_MCA_mca_base_component_path"); set && !*set)
        f.wrong("OMPI_MCA_mca_base_component_path is set, to nothing: Open MPI looks for components nowhere",
                "unset OMPI_MCA_mca_base_component_path");
    // ompi_info shows what it can load, jobs take what has their interface: that of Open MPI's own.
    const auto api = [&](const char *name) {
        return value_in(mpi.all, "mca:coll:" + std::string(name) + ":version:\"api:");
    };
    if (!component.empty() && !api("basic").empty() && api("basic") != api("wan")) {
        f.wrong((file.empty() ? "coll/wan" : file) + " was built for another series of Open MPI than " + mpi.version,
                "Configure and build it for this one (--with-ompi=DIR), and install it where this one looks: "
                    + mpi.components);
        return false;
    }
    if (!component.empty()) {
        f.good("coll/wan " + component.substr(0, component.find('"'))
               + (file.empty() ? "" : " in " + file.substr(0, file.rfind('/'))));
        if (component.substr(0, component.find('"')) != PACKAGE_VERSION)
            f.note("this wan-info is of version " PACKAGE_VERSION,
                   "What it predicts may differ from what the plugin does: install both from the same sources.");
        return true;
    }
    if (file.empty())
        f.wrong("coll/wan is not where Open MPI looks for components:" + all,
                "make install (from the build directory, mostly as root), or where it is elsewhere:\n"
                "export OMPI_MCA_mca_base_component_path=DIRECTORY:SYSTEM_DEFAULT");
    else
        plugin_examine(f, mpi, file);
    return false;
}

/** `--mca coll` and coll_wan_priority. */
void selection_judge(findings &f, const open_mpi &mpi)
{
    std::string list = value_in(mpi.all, "mca:coll:base:param:coll:value:");
    const std::string source = value_in(mpi.all, "mca:coll:base:param:coll:source:");
    const bool without = list.starts_with("^");
    if (without)
        list.erase(0, 1);
    bool named = false;
    std::istringstream names(list);
    for (std::string n; std::getline(names, n, ',');)
        named |= n == "wan";
    if (!list.empty() && named == without)
        f.wrong("the parameter `coll` is '" + (without ? "^" + list : list) + "', which leaves coll/wan out (" + source
                    + ")",
                without ? "Take wan out of the list." : "Add wan to the list, or leave the parameter empty.");
    const std::string priority = value_in(mpi.all, "mca:coll:wan:param:coll_wan_priority:value:");
    if (priority == "-1")
        f.wrong("coll_wan_priority is -1: coll/wan is off", "Leave it out, or set it to 50.");
}

void text_judge(findings &f, const open_mpi &mpi)
{
    std::vector<std::string> places{mpi.texts};
    std::istringstream path(variable("OMPI_MCA_mca_base_component_path", ""));
    for (std::string part; std::getline(path, part, ':');)
        places.push_back(part);
    for (const std::string &p : places)
        if (access((p + "/help-mpi-coll-wan.txt").c_str(), R_OK) == 0)
            return;
    f.note("help-mpi-coll-wan.txt is not in " + mpi.texts,
           "Messages of coll/wan will be short: make install puts it there.");
}

/** As Open MPI reads them, from its files and the environment. */
parameters parameters_of(findings &f, const open_mpi &mpi)
{
    std::vector<std::string> settings;
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const std::string name = wan_knob_get(i)->name;
        const std::string value = value_in(mpi.all, "mca:coll:wan:param:coll_wan_" + name + ":value:");
        const std::string source = value_in(mpi.all, "mca:coll:wan:param:coll_wan_" + name + ":source:");
        if (value.empty() || source == "default" || source.empty())
            continue;
        settings.push_back("coll_wan_" + name + "=" + value);
        f.note("coll_wan_" + name + " is " + value + " (" + source + ")");
    }
    try {
        return parameters(settings);
    } catch (const wrong_word &e) {
        f.wrong(e.what(), "Processes refuse it, too.");
        return parameters({});
    }
}

void kernel_judge(findings &f, const open_mpi &mpi, const doctor_words &w)
{
    const int64_t rate = rate_of(w.rate, "--rate"), latency = latency_of(w.latency, "--latency");
    // A connection has a window under way in a round trip; of the kernel's buffer half is payload (core/model/cost.hpp).
    const int64_t window = static_cast<int64_t>(static_cast<__int128>(rate) * 2 * latency / 1'000'000'000),
                  wanted = 2 * window;
    const std::string way = rate_text(static_cast<double>(rate)) + ", " + time_text(latency) + " one way";
    const auto mib = [](int64_t bytes) { return size_text(static_cast<uint64_t>((bytes + (1 << 20) - 1) >> 20 << 20)); };
    for (const char *name : {"net/ipv4/tcp_wmem", "net/ipv4/tcp_rmem"}) {
        const auto values = kernel_values(name);
        std::string dotted = name;
        std::replace(dotted.begin(), dotted.end(), '/', '.');
        if (values.size() != 3)
            continue;
        if (values[2] >= wanted) {
            f.good(dotted + " goes up to " + mib(values[2]) + ": one connection fills " + way);
            continue;
        }
        const double reaches = static_cast<double>(values[2]) / 2 / (2 * static_cast<double>(latency) / 1e9);
        f.note(dotted + " goes up to " + mib(values[2]) + ": one connection carries " + rate_text(reaches) + " of "
                   + way,
               "coll/wan sends over several at once; for all of it over one, as root on all hosts:\n"
               "sysctl -w "
                   + dotted + "='" + std::to_string(values[0]) + " " + std::to_string(values[1]) + " "
                   + std::to_string(wanted) + "'");
    }
    for (const char *name : {"btl_tcp_sndbuf", "btl_tcp_rcvbuf"}) {
        const std::string value = value_in(mpi.all, "mca:btl:tcp:param:" + std::string(name) + ":value:");
        if (const int64_t bytes = std::atoll(value.c_str()); bytes > 0 && bytes < wanted)
            f.wrong(std::string(name) + " is " + value
                        + ": the kernel cannot let the window of a connection grow beyond it",
                    "Set it to 0 (the kernel decides): --mca " + std::string(name) + " 0");
    }
    if (const auto scaling = kernel_values("net/ipv4/tcp_window_scaling"); scaling == std::vector<int64_t>{0})
        f.wrong("net.ipv4.tcp_window_scaling is 0: a connection has 64 KB under way at most",
                "As root on all hosts: sysctl -w net.ipv4.tcp_window_scaling=1");
    if (const auto idle = kernel_values("net/ipv4/tcp_slow_start_after_idle"); idle == std::vector<int64_t>{1})
        f.note("net.ipv4.tcp_slow_start_after_idle is 1: connections start slowly again after a pause",
               "Where long messages follow pauses of seconds, as root on all hosts: sysctl -w "
               "net.ipv4.tcp_slow_start_after_idle=0");
    for (const char *name : {"net/core/rmem_max", "net/core/wmem_max"})
        if (const auto values = kernel_values(name);
            values.size() == 1 && values[0] < std::min<int64_t>(wanted, 4 << 20)) {
            std::string dotted = name;
            std::replace(dotted.begin(), dotted.end(), '/', '.');
            f.note(dotted + " is " + std::to_string(values[0]) + " bytes; btl/udp's socket can have no more",
                   "For jobs with --mca btl self,udp, as root on all hosts: sysctl -w " + dotted + "="
                       + std::to_string(4 << 20));
        }
}

/** Do jobs find it?  contrib/installed knows. */
void jobs_judge(findings &f)
{
    int code = 0;
    const std::string said = output_of("bash -c " + in_quotes(installed_text), code);
    if (code == 0)
        f.good("jobs find it");
    else if (code == 77)
        f.note("whether jobs find it is not known:", said);
    else
        f.wrong("jobs do not find it:", said);
}

} // namespace

int doctor_run(const doctor_words &w)
{
    findings f;
    (void)rate_of(w.rate, "--rate");
    (void)latency_of(w.latency, "--latency");
    open_mpi mpi;
    int code = 0;
    mpi.version = value_in(output_of(in_quotes(mpi.info) + " --version 2>/dev/null", code), "Open MPI v");
    if (mpi.version.empty()) {
        f.wrong("no Open MPI: " + mpi.info + (code == 127 ? " is not in PATH" : " does not tell a version"),
                "Install it (Debian: apt-get install openmpi-bin), or name its ompi_info: "
                "OMPI_INFO=/opt/openmpi/bin/ompi_info wan-info doctor");
        return 1;
    }
    mpi.components = mpi.path("pkglibdir");
    mpi.texts = mpi.path("pkgdatadir");
    mpi.all = mpi.ask("--all --level 9");
    if (mpi.version.starts_with("4.1.") || mpi.version.starts_with("5.0."))
        f.good("Open MPI " + mpi.version + ", components in " + mpi.components);
    else
        f.note("Open MPI " + mpi.version + ": coll/wan was written for 4.1 and 5.0");
    if (plugin_judge(f, mpi)) {
        text_judge(f, mpi);
        selection_judge(f, mpi);
        if (w.jobs)
            jobs_judge(f);
    }
    if (!own_site_print(parameters_of(f, mpi)))
        ++f.bad;
    kernel_judge(f, mpi, w);
    std::cout << (f.bad ? std::to_string(f.bad) + (f.bad == 1 ? " thing is wrong\n" : " things are wrong\n")
                        : "nothing is wrong\n");
    return f.bad ? 1 : 0;
}

} // namespace info
