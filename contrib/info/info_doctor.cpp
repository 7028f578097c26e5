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
#include "info_reach.hpp"
#include "info_words.hpp"
#include "wan_config.h"
#include "wan_number.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
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

/** As one word of a shell's command. */
std::string shell_word(const std::string &word)
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

/**
 * What follows `key` in a line of its own.  ompi_info puts in quotes what has a colon: these are
 * no part of it.
 */
std::optional<std::string> line_value(const std::string &text, const std::string &key)
{
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        if (text.compare(at, key.size(), key) == 0) {
            const std::string value = text.substr(at + key.size(), end - at - key.size());
            const bool quoted = value.size() > 1 && value.front() == '"' && value.back() == '"';
            return quoted ? value.substr(1, value.size() - 2) : value;
        }
        at = end + 1;
    }
    return std::nullopt;
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
        return output_of(shell_word(info) + " " + arguments + " --parsable 2>/dev/null", code);
    }
    std::string path(const char *kind) const
    {
        return line_value(ask("--path " + std::string(kind)), "path:" + std::string(kind) + ":").value_or("");
    }
    /** `what` of a component of coll: "component", or "api", its interface; "": it is not shown. */
    std::string coll_version(const std::string &component, const std::string &what) const
    {
        const std::string text = line_value(all, "mca:coll:" + component + ":version:\"" + what + ":").value_or("");
        return text.substr(0, text.find('"'));
    }
    /** The value of "coll:wan:param:coll_wan_links"; nullopt: no such parameter. */
    std::optional<std::string> parameter_value(const std::string &name) const
    {
        return line_value(all, "mca:" + name + ":value:");
    }
    /** Where it is from: "default", "environment", "file (/etc/...)". */
    std::string parameter_source(const std::string &name) const
    {
        return line_value(all, "mca:" + name + ":source:").value_or("");
    }
};

/** A line `NAME = VALUE` of a parameter file. */
struct file_parameter {
    std::string name, value, where;     // where: "FILE:LINE"
};

/** Of coll/wan and btl/udp, in the order of files and lines.  (In one file the last of equal names counts, of files the first: it says which.) */
std::vector<file_parameter> file_parameters(const open_mpi &mpi)
{
    const auto trimmed = [](std::string s) {
        s.erase(0, std::min(s.size(), s.find_first_not_of(" \t")));
        s.erase(s.find_last_not_of(" \t\r") + 1);
        return s;
    };
    std::vector<file_parameter> found;
    std::istringstream files(mpi.parameter_value("mca:base:param:mca_base_param_files").value_or(""));
    for (std::string file; std::getline(files, file, ',');) {
        std::ifstream lines(file);
        int number = 0;
        for (std::string line; std::getline(lines, line);) {
            ++number;
            const size_t equals = line.find('=');
            if (const std::string name = trimmed(line.substr(0, equals)); equals != line.npos && (name.starts_with("coll_wan_") || name.starts_with("btl_udp_")))
                found.push_back({name, trimmed(line.substr(equals + 1)), file + ":" + std::to_string(number)});
        }
    }
    return found;
}

/** Where Open MPI looks for components, in that order. */
struct component_path {
    std::string text, source;           // as set
    std::vector<std::string> places;    // words for Open MPI's own directories written out
    bool own = false;                   // whether Open MPI's own components are in it

    explicit component_path(const open_mpi &mpi)
    {
        const std::string name = "mca:base:param:mca_base_component_path";
        const char *const set = std::getenv("OMPI_MCA_mca_base_component_path");
        text = mpi.parameter_value(name).value_or(set ? set : "SYSTEM_DEFAULT:USER_DEFAULT");
        source = mpi.parameter_source(name);
        std::istringstream parts(text);
        for (std::string part; std::getline(parts, part, ':');) {
            if (part == "SYSTEM_DEFAULT" || part == "SYS_DEFAULT")
                part = mpi.components;
            else if (part == "USER_DEFAULT" || part == "USR_DEFAULT")
                part = user_default();
            if (!part.empty())
                places.push_back(part);
            std::error_code none;
            own |= part == mpi.components || std::filesystem::equivalent(part, mpi.components, none);
        }
    }
    static std::string user_default() { return variable("HOME", "") + "/.openmpi/components"; }
    /** `name` in the first place that has it; "": none. */
    std::string find(const std::string &name) const
    {
        for (const std::string &p : places)
            if (access((p + "/" + name).c_str(), F_OK) == 0)
                return p + "/" + name;
        return "";
    }
    std::string lines() const
    {
        std::string all;
        for (const std::string &p : places)
            all += "\n  " + p;
        return all;
    }
};

void path_judge(findings &f, const open_mpi &mpi, const component_path &path)
{
    const std::string from = path.source.empty() ? "" : " (" + path.source + ")";
    if (path.text.empty()) {
        f.wrong("mca_base_component_path is set, to nothing" + from + ": Open MPI looks for components nowhere",
                "unset OMPI_MCA_mca_base_component_path, or take the line out of the file.");
        return;
    }
    for (const std::string &p : path.places)
        if (p != mpi.components && p != component_path::user_default() && access(p.c_str(), R_OK | X_OK) != 0)
            f.wrong("mca_base_component_path" + from + " names " + p
                        + ", which cannot be read: Open MPI ends its search there",
                    "Take it out, or make the directory.");
    if (!path.own)
        f.wrong("mca_base_component_path is " + path.text + from + ": without Open MPI's own components in "
                    + mpi.components + " no job runs",
                "Append :SYSTEM_DEFAULT to it.");
}

/** Why a plugin that is there is not shown. */
void plugin_examine(findings &f, const open_mpi &mpi, const std::string &file)
{
    if (access(file.c_str(), R_OK) != 0) {
        f.wrong(file + " cannot be read", "chmod a+r " + file);
        return;
    }
    // In a child: what a library does when it is loaded is not ours.  Nothing of ours is left for it to write.
    std::cout.flush();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) {
        f.note(file + " is there; whether it can be loaded was not tried: " + std::strerror(errno));
        return;
    }
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
    else if (WIFSIGNALED(status))
        f.wrong("a process that loads " + file + " ends by signal " + std::to_string(WTERMSIG(status)) + " ("
                    + strsignal(WTERMSIG(status)) + ")",
                "Build it again on this host (../configure; make; make install), for this Open MPI.");
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        f.wrong("a process that loads " + file + " ends before it is loaded",
                "Build it again on this host (../configure; make; make install), for this Open MPI.");
    else
        f.wrong(file + " is there and can be loaded, but Open MPI " + mpi.version + " does not take it",
                "Is it a component of this Open MPI? Configure and build it for this one (--with-ompi=DIR).");
}

/** The plugin among the components; whether it is shown. */
bool plugin_judge(findings &f, const open_mpi &mpi, const component_path &path)
{
    const std::string version = mpi.coll_version("wan", "component");
    const std::string file = path.find("mca_coll_wan.so");
    // ompi_info shows what it can load, jobs take what has their interface: that of Open MPI's own.
    const std::string interface = mpi.coll_version("basic", "api");
    if (!version.empty() && !interface.empty() && interface != mpi.coll_version("wan", "api")) {
        f.wrong((file.empty() ? "coll/wan" : file) + " was built for another series of Open MPI than " + mpi.version,
                "Configure and build it for this one (--with-ompi=DIR), and install it where this one looks: "
                    + mpi.components);
        return false;
    }
    if (!version.empty()) {
        f.good("coll/wan " + version + (file.empty() ? "" : " in " + file.substr(0, file.rfind('/'))));
        if (version != PACKAGE_VERSION)
            f.note("this wan-info is of version " PACKAGE_VERSION,
                   "What it predicts may differ from what the plugin does: install both from the same sources.");
        return true;
    }
    if (file.empty())
        f.wrong("coll/wan is not where Open MPI looks for components:" + path.lines(),
                "make install (from the build directory, mostly as root), or where it is elsewhere:\n"
                "export OMPI_MCA_mca_base_component_path=DIRECTORY:SYSTEM_DEFAULT");
    else
        plugin_examine(f, mpi, file);
    return false;
}

/** `--mca coll` and coll_wan_priority. */
void selection_judge(findings &f, const open_mpi &mpi)
{
    std::string list = mpi.parameter_value("coll:base:param:coll").value_or("");
    const std::string source = mpi.parameter_source("coll:base:param:coll");
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
    const auto priority = [&](const std::string &who) { return mpi.parameter_value("coll:" + who + ":param:coll_" + who + "_priority"); };
    const std::string ours = priority("wan").value_or("");
    if (ours == "-1")
        f.wrong("coll_wan_priority is -1: coll/wan is off", "Leave it out, or set it to 50.");
    else
        for (const char *other : {"tuned", "han"})
            if (const auto theirs = priority(other); !ours.empty() && theirs && std::atoi(ours.c_str()) <= std::atoi(theirs->c_str()))
                f.wrong("coll_wan_priority is " + ours + ", not above coll_" + other + "_priority, " + *theirs + ": blocking calls are Open MPI's own",
                        "Leave both out, or set coll_wan_priority to more.");
}

/** What Open MPI may be told of its own lists, which keeps coll/wan out of a process: lists_have_end() in coll_wan_component.c. */
void lists_judge(findings &f, const open_mpi &mpi)
{
    for (const char *layer : {"ob1", "cm"}) {
        const std::string name = "pml_" + std::string(layer) + "_free_list_max", of = "pml:" + std::string(layer) + ":param:" + name;
        if (const std::string most = mpi.parameter_value(of).value_or(""); std::atoi(most.c_str()) > 0)
            f.wrong(name + " is " + most + " (" + mpi.parameter_source(of) + "): coll/wan stays out of jobs over " + layer + ", since it needs lists without an end",
                    "Leave it out, or set it to -1.");
    }
}

/** Where the plugin looks for its texts: coll_wan_message.c. */
void text_judge(findings &f, const open_mpi &mpi, const component_path &path)
{
    const std::string plugin = path.find("mca_coll_wan.so");
    for (const std::string &p : {mpi.texts, plugin.substr(0, plugin.rfind('/')), std::string(WAN_HELPDIR)})
        if (access((p + "/help-mpi-coll-wan.txt").c_str(), R_OK) == 0)
            return;
    f.note("help-mpi-coll-wan.txt is not in " + mpi.texts + ", nor beside the plugin",
           "Messages of coll/wan will be short: make install puts it there.");
}

/** As jobs have them: as Open MPI read them from its files and the environment, or else from the environment. */
parameters parameters_seen(findings &f, const open_mpi &mpi)
{
    parameters params;
    const std::vector<file_parameter> from_files = file_parameters(mpi);
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const std::string name = wan_knob_get(i)->name, full = "coll_wan_" + name;
        std::string value = mpi.parameter_value("coll:wan:param:" + full).value_or("");
        std::string source = mpi.parameter_source("coll:wan:param:" + full);
        if (source.empty() || source == "default" || source == "environment") {
            // Not shown, or shown as the default that Open MPI or coll/wan took for a value that they refused.
            value = parameters::environment(name);
            source = "environment";
        } else if (source.starts_with("file")) {
            // As it is written: what was refused is shown as the default, too.
            for (const file_parameter &p : from_files)
                if (p.name == full && source.find(p.where) != source.npos)
                    value = p.value;
        }
        if (value.empty())
            continue;
        f.note(full + " is " + value + " (" + source + ")");
        try {
            params.set(name, value);
        } catch (const wrong_word &e) {
            f.wrong(e.what(), "Processes refuse it, too, and use the default.");
        }
    }
    wan_message_t fault;
    for (int which = 0, code = WAN_OK; code != WAN_DECLINED; ++which)
        if ((code = wan_params_keep(&params.values(), which, &fault)) == WAN_ERR_INPUT)
            f.note(std::string(fault.where) + " could not be written, if rank 0 were here: " + fault.what, fault.remedy);
    return params;
}

/** As Open MPI reads numbers; nullopt: it is none, or takes it for another one. */
std::optional<int64_t> number_of(const std::string &text)
{
    int64_t value = 0;
    return wan_number_read(text.c_str(), &value) == WAN_NUMBER_GOOD ? std::optional(value) : std::nullopt;
}

/** Whether a process took something else than was given, and so its default. */
bool refused(const std::string &given, const std::string &taken)
{
    if (given.empty() || given == taken)
        return false;
    const auto a = number_of(given), b = number_of(taken);
    return a && b ? *a != *b : !a;     // an enumerator may be given as its number
}

/** Open MPI says nothing of names in the environment and in parameter files that nobody has registered. */
void names_judge(findings &f, const open_mpi &mpi)
{
    const std::string all = "OMPI_MCA_", prefix = "coll_wan_";
    // btl/udp's are known where Open MPI shows them.
    const bool udp = mpi.parameter_value("btl:udp:param:btl_udp_port_min").has_value();
    const auto judge = [&](const std::string &where, const std::string &written, const std::string &name, const std::string &value) {
        const bool ours = name.starts_with(prefix);
        bool known = !ours && (!udp || mpi.parameter_value("btl:udp:param:" + name));
        for (size_t i = 0; ours && i < wan_knob_count(); ++i)
            known |= name == prefix + wan_knob_get(i)->name;
        if (!known)
            f.wrong(where + " has " + written + ", and there is no parameter of that name: nobody reads it",
                    std::string("ompi_info --param ") + (ours ? "coll wan" : "btl udp") + " --level 9 lists them.");
        else if (const auto taken = mpi.parameter_value("btl:udp:param:" + name); !ours && taken && refused(value, *taken))
            f.wrong(where + " has " + written + " = " + value + ", which is refused",
                    name == "btl_udp_security" ? "btl/udp is not used until it has one of its names." : "Processes use the default, " + *taken + ".");
    };
    std::set<std::string> set;      // the first that says anything counts
    for (char **entry = environ; *entry; ++entry) {
        const std::string text = *entry, name = text.substr(0, text.find('='));
        if (name.starts_with(all + prefix) || name.starts_with(all + "btl_udp_")) {
            judge("the environment", name, name.substr(all.size()), text.substr(std::min(text.size(), name.size() + 1)));
            set.insert(name.substr(all.size()));
        }
    }
    for (const file_parameter &p : file_parameters(mpi))
        judge(p.where, p.name, p.name, set.insert(p.name).second ? p.value : "");
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
        const std::string value = mpi.parameter_value("btl:tcp:param:" + std::string(name)).value_or("");
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
    const std::string said = output_of("bash -c " + shell_word(installed_text), code);
    if (code == 0)
        f.good("jobs find it");
    else if (code == 77)
        f.note("whether jobs find it is not known:", said);
    else
        f.wrong("jobs do not find it:", said);
}

/** The ports of btl/udp, where it is told any; whether the one that is tried (`where`, "": none) is among them. */
void ports_judge(findings &f, const open_mpi &mpi, const std::string &where)
{
    const auto number = [&](const std::string &name) { return number_of(mpi.parameter_value("btl:udp:param:" + name).value_or("")).value_or(0); };
    const int64_t first = number("btl_udp_port_min"), wanted = number("btl_udp_port_range"), last = std::min<int64_t>(first + wanted, 65536) - 1;
    if (first <= 0)
        return;     // any free one
    const std::string ports = std::to_string(first) + " to " + std::to_string(last) + " (btl_udp_port_min, btl_udp_port_range)";
    if (last - first + 1 < wanted)
        f.note("btl/udp has " + std::to_string(last - first + 1) + " ports, " + ports + ": 65535 is the last that there is",
               "Enough, where no more processes run on a host; else set btl_udp_port_min lower.");
    if (where.empty())
        return;
    if (const int64_t tried = std::stoi(reach_place(where).second); tried < first || tried > last)
        f.note("UDP port " + std::to_string(tried) + " is tried, and jobs over btl/udp take " + ports,
               "A firewall may let one pass and not the others: try one of these.");
}

/** What datagrams to another host, and their answers, have come to. */
void reach_judge(findings &f, const std::string &where)
{
    const reach r = reach_try(where);
    if (!r.error.empty()) {
        f.wrong("UDP to " + where + " was not tried: " + r.error, "Is the name right, and known on this host? An address does, too.");
        return;
    }
    if (!r.answered) {
        f.wrong("UDP: of " + std::to_string(r.sent) + " datagrams to " + where + " none came back",
                "Is `wan-info doctor --answer " + where.substr(where.rfind(':') + 1)
                    + "` running there? Then a firewall lets none through, on one of the two ways.\n"
                      "For jobs with --mca btl self,udp open a range of UDP ports between all hosts, and name it:\n"
                      "--mca btl_udp_port_min 20000 --mca btl_udp_port_range 1000. Jobs without btl/udp do not need it.");
        return;
    }
    const std::string told = "UDP reaches " + where + " and comes back, " + time_text(r.median_ns) + " both ways";
    if (r.answered == r.sent)
        f.good(told);
    else
        f.note(told + ", but of " + std::to_string(r.sent) + " datagrams, one after the other, " + std::to_string(r.sent - r.answered) + " were lost",
               "btl/udp sends again what is lost; a way that loses so much is slow for everybody (btl_udp_control bbr suffers least).");
    const int largest = r.back.empty() ? 0 : *std::max_element(r.back.begin(), r.back.end());
    if (largest >= 1472)
        f.good("UDP: datagrams of " + std::to_string(largest) + " bytes come back whole");
    else
        f.note("UDP: datagrams of " + (largest > 0 ? "more than " + std::to_string(largest) : "548") + " bytes do not come back whole (a tunnel on the way?)",
               largest > 0
                   ? "btl/udp finds that out by itself, at some cost; to tell it: --mca btl_udp_mtu " + std::to_string(largest + 28) + "."
                   : "btl/udp needs ways that let packets of 576 bytes pass: ask for that, or stay with btl/tcp.");
    if (r.burst_answered == r.burst)
        f.good("UDP: " + std::to_string(r.burst) + " datagrams at once come back, all of them");
    else
        f.note("UDP: of " + std::to_string(r.burst) + " datagrams at once " + std::to_string(r.burst_answered) + " come back",
               "Something on the way, or the kernel's buffers (see above), holds fewer; btl/udp adapts to that.");
}

} // namespace

int doctor_run(const doctor_words &w)
{
    findings f;
    if (w.answer && !w.udp.empty())
        throw wrong_word("--udp and --answer: one host answers (wan-info doctor --answer PORT), another one asks (wan-info doctor --udp HOST:PORT): give one of them");
    if (w.answer)
        return reach_answer(w.answer, w.answer_seconds);
    (void)rate_of(w.rate, "--rate");
    (void)latency_of(w.latency, "--latency");
    if (!w.udp.empty())
        reach_place(w.udp);
    open_mpi mpi;
    int code = 0;
    mpi.version = line_value(output_of(shell_word(mpi.info) + " --version 2>/dev/null", code), "Open MPI v").value_or("");
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
    const component_path path(mpi);
    path_judge(f, mpi, path);
    if (plugin_judge(f, mpi, path)) {
        text_judge(f, mpi, path);
        selection_judge(f, mpi);
        lists_judge(f, mpi);
        if (!w.no_jobs)
            jobs_judge(f);
    }
    names_judge(f, mpi);
    if (!own_site_print(parameters_seen(f, mpi)))
        ++f.bad;
    kernel_judge(f, mpi, w);
    ports_judge(f, mpi, w.udp);
    if (!w.udp.empty())
        reach_judge(f, w.udp);
    std::cout << (f.bad ? std::to_string(f.bad) + (f.bad == 1 ? " thing is wrong\n" : " things are wrong\n")
                        : "nothing is wrong\n");
    return f.bad ? 1 : 0;
}

} // namespace info
