/*
 * See info_pages.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_pages.hpp"

#include "algo/registry.hpp"
#include "info_words.hpp"
#include "wan_config.h"

#include <CLI/CLI.hpp>

#include <sstream>

namespace info {

namespace {

std::string roff(const std::string &text)
{
    std::string out;
    for (char c : text)
        out += c == '-' ? "\\-" : c == '\\' ? "\\e" : c == '\n' ? "\n.br\n" : std::string(1, c);
    // A line that begins with one of these would be a request.
    if (!out.empty() && (out[0] == '.' || out[0] == '\''))
        out.insert(0, "\\&");
    return out;
}

void options_write(std::ostringstream &page, const CLI::App &app)
{
    for (const CLI::Option *o : app.get_options()) {
        if (o->get_name() == "--help" || o->get_lnames() == std::vector<std::string>{"help"})
            continue;
        page << ".TP\n\\fB" << roff(o->get_name(o->get_positional(), true)) << "\\fR";
        if (o->get_type_size() > 0 && !o->get_type_name().empty() && !o->get_lnames().empty())
            page << " \\fI" << roff(o->get_type_name()) << "\\fR";
        page << "\n" << roff(o->get_description());
        if (!o->get_default_str().empty())
            page << " (default: " << roff(o->get_default_str()) << ")";
        page << "\n";
    }
}

std::string words_of(const CLI::App &app)
{
    std::string words;
    for (const CLI::Option *o : app.get_options())
        for (const std::string &name : o->get_lnames())
            words += (words.empty() ? "--" : " --") + name;
    return words;
}

bool hidden(const CLI::App &app) { return app.get_group().empty(); }

} // namespace

std::string manual_page(const CLI::App &app)
{
    std::ostringstream page;
    page << ".\\\" Written by `wan-info manual'; to write it anew: test/info --regenerate\n"
            ".\\\" SPDX-License-Identifier: BSD-3-Clause\n"
            ".TH WAN\\-INFO 1 \"\" \"wan-ompi " PACKAGE_VERSION "\" \"coll/wan\"\n"
            ".SH NAME\nwan\\-info \\- what Open MPI's coll/wan would do, and whether it is well\n"
            ".SH SYNOPSIS\n";
    for (const CLI::App *s : app.get_subcommands({}))
        if (!hidden(*s)) {
            page << ".B wan\\-info " << s->get_name() << "\n";
            for (const CLI::Option *o : s->get_options())
                if (o->get_positional())
                    page << "\\fI" << o->get_name(true) << "\\fR\n";
            page << "[options]\n.br\n";
        }
    page << ".SH DESCRIPTION\n"
         << roff(app.get_description())
         << "\n.PP\nNothing is measured and no job is started (but one process by\n.B doctor\n): what is said of times "
            "is predicted, by the code "
            "that the plugin runs. Parameters of coll/wan are taken from the environment, "
            "too\n(\\fIOMPI_MCA_coll_wan_*\\fR).\n.SH COMMANDS\n";
    for (const CLI::App *s : app.get_subcommands({})) {
        if (hidden(*s))
            continue;
        page << ".SS " << s->get_name() << "\n" << roff(s->get_description()) << "\n";
        options_write(page, *s);
    }
    page << ".SH EXIT STATUS\n"
            "0: done, nothing wrong. 1: something is wrong with what was looked at (a map, an installation, a host "
            "without a site). "
            "2: the command line is wrong, or what it names cannot be read or written; standard error says what to do.\n"
            ".SH EXAMPLES\n"
            ".nf\n"
            "wan\\-info sites \\-\\-map /etc/wan\\-sites \\-\\-hostfile hosts\n"
            "wan\\-info check /etc/wan\\-sites\n"
            "wan\\-info plan bcast 1M \\-\\-shape 2x16 \\-\\-latency 10ms \\-\\-nic 40Mb/s \\-\\-draw plan.svg\n"
            "wan\\-info compare allreduce \\-\\-shape 2x16 \\-\\-sizes 1..16M:16\n"
            "wan\\-info report run.json \\-\\-html run.html\n"
            "wan\\-info doctor\n"
            ".fi\n"
            ".SH FILES\n"
            "A map: hosts and their sites, one statement a line, or Slurm's topology.conf; see README, \"Telling it "
            "the sites\".\n"
            ".SH SEE ALSO\n.BR coll_wan (7),\n.BR btl_udp (7),\n.BR mpirun (1),\n.BR ompi_info (1)\n";
    return page.str();
}

std::string plugin_page()
{
    std::ostringstream page;
    const auto item = [&](const std::string &name, const std::string &text) {
        page << ".TP\n\\fB" << roff(name) << "\\fR\n" << roff(text) << "\n";
    };
    page << ".\\\" Written by `wan-info manual coll_wan'; to write it anew: test/info --regenerate\n"
            ".\\\" SPDX-License-Identifier: BSD-3-Clause\n"
            ".TH COLL_WAN 7 \"\" \"wan-ompi " PACKAGE_VERSION "\" \"coll/wan\"\n"
            ".SH NAME\ncoll_wan \\- Open MPI's collectives across sites: parameters, algorithms, variables, messages\n"
            ".SH SYNOPSIS\n"
            ".B mpirun\n[\\fB\\-\\-mca coll_wan_\\fINAME VALUE\\fR ...] \\fIPROGRAM\\fR\n"
            ".SH DESCRIPTION\n"
         << roff("coll/wan serves MPI's collectives on communicators that span two or more sites (clusters, data centres, cloud regions). "
                 "Programs stay as they are. Sites are found by measuring, or told by a map; inside one site Open MPI's own collectives stay. "
                 "Whether it is at work:")
         << "\n.PP\n.nf\n"
            "wan\\-info doctor                                      # installed so that jobs find it?\n"
            "mpirun \\-\\-mca coll_wan_verbose 1 \\fIPROGRAM\\fR             # who is where, what is served, or why not\n"
            "mpirun \\-\\-mca coll_wan_report run.json \\fIPROGRAM\\fR       # at the end: what happened\n"
            "wan\\-info report run.json \\-\\-html run.html\n"
            "mpirun \\-\\-mca coll ^wan \\fIPROGRAM\\fR                    # without it\n"
            ".fi\n.PP\nTwo sites on one host, to look at it:\n.PP\n.nf\n"
            "mpirun \\-\\-oversubscribe \\-np 2 \\-x OMPI_MCA_coll_wan_cluster_id=left \\fIPROGRAM\\fR : \\e\n"
            "       \\-np 2 \\-x OMPI_MCA_coll_wan_cluster_id=right \\fIPROGRAM\\fR\n"
            ".fi\n.SH PARAMETERS\n"
         << roff("By mpirun --mca, as OMPI_MCA_... in the environment, or in openmpi-mca-params.conf.") << "\n";
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const wan_knob_t &k = *wan_knob_get(i);
        std::string name = std::string("coll_wan_") + k.name, text = k.help;
        if (k.type == WAN_KNOB_ENUM) {
            text += ":";
            const char *word;
            for (int v = 0; (word = wan_knob_enumerator(&k, v, nullptr)); ++v)
                text += (v ? ", " : " ") + std::string(word);
        } else if (k.type != WAN_KNOB_STRING) {
            text += ". Default: " + std::to_string(k.initial);
        }
        item(name, text + ".");
    }
    page << ".SH ALGORITHMS\n" << roff("Chosen for each call by prediction; by name with the parameters above.") << "\n";
    for (const wan::algorithm *a : wan::algorithms())
        item(std::string(wan_collective_name(a->collective)) + " " + a->name, std::string(a->summary) + (a->automatic ? "." : "; only by name."));
    page << ".SH PERFORMANCE VARIABLES\n"
         << roff("By MPI_T: sums over the communicators of a process, coll_wan_comm_* of the one that a handle is bound to. A handle counts from "
                 "when it was made, or reset.")
         << "\n";
    for (size_t i = 0; i < wan_counter_count(); ++i) {
        wan_counter_t counter;
        wan_counter_get(i, &counter);
        item(std::string("coll_wan_") + counter.name, std::string(counter.help) + ".");
    }
    page << ".SH MESSAGES\n"
         << roff("With coll_wan_verbose 1, \"is not served\" and why; what to do:") << "\n";
    for (int i = WAN_REASON_NONE + 1; i < WAN_REASONS; ++i) {
        const auto reason = static_cast<wan_reason_t>(i);
        item(wan_reason_text(reason), std::string(wan_reason_remedy(reason)) + ".");
    }
    page << ".PP\n" << roff("All other messages say themselves where, what, and what to do.") << "\n"
            ".SH FILES\n"
         << roff("A map of hosts and sites (coll_wan_cluster_map), one statement a line:") << "\n.PP\n.nf\n"
            "n[001\\-016],gw1     eu/paris\n"
            "m[01\\-16]           us/boston\n"
            "default            us/boston        # hosts that are not listed; may be left out\n"
            "link   eu/paris us/boston  latency=40ms bandwidth=1Gb/s\n"
            "nic    eu/paris            bandwidth=10Gb/s\n"
            "uplink eu/paris            bandwidth=2Gb/s\n"
            ".fi\n.PP\nRules (coll_wan_rules):\n.PP\n.nf\n"
            "bcast bytes 1M\\-: vandegeijn\n"
            "allreduce bytes \\-4K ranks 32\\-64: leaders entries 1\n"
            "scan sites 2 placement blocks: open_mpi\n"
            ".fi\n.PP\n"
            "After an algorithm, as far as it has them: links, entries, pieces and a number; order and star or chain; inner and circulant, ring\n"
            "or halving; cuts and a power of two, or 1/ that: so many times the segments that would be chosen, or so few.\n"
            ".PP\n.B wan\\-info check\nsays what is wrong in which line of them.\n"
            ".SH SEE ALSO\n.BR wan\\-info (1),\n.BR btl_udp (7),\n.BR mpirun (1),\n.BR ompi_info (1)\n";
    return page.str();
}

std::string completion(const CLI::App &app)
{
    std::ostringstream s;
    std::string commands, cases;
    for (const CLI::App *c : app.get_subcommands({})) {
        if (hidden(*c))
            continue;
        commands += (commands.empty() ? "" : " ") + c->get_name();
        cases += "    " + c->get_name() + ") words='" + words_of(*c) + "' ;;\n";
    }
    std::string knobs;
    for (size_t i = 0; i < wan_knob_count(); ++i)
        knobs += (i ? " " : "") + std::string(wan_knob_get(i)->name) + "=";
    s << "# bash completion of wan-info.  Written by `wan-info completion`; to write it anew: test/info --regenerate\n"
         "# SPDX-License-Identifier: BSD-3-Clause\n"
         "# Words, or names of files, that begin as the current one does.\n"
         "_wan_info_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\"); }\n"
         "_wan_info_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); }\n"
         "_wan_info() {\n"
         "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
         "    COMPREPLY=()\n"
         "    if [[ $COMP_CWORD == 1 ]]; then\n"
         "        _wan_info_words '" << commands << " " << words_of(app) << "'\n"
         "        return\n"
         "    fi\n"
         "    case $previous in\n"
         "    --map | --hostfile | --draw | --html) _wan_info_files; return ;;\n"
         "    --placement) _wan_info_words 'block roundrobin shuffled'; return ;;\n"
         "    --param) compopt -o nospace; _wan_info_words '" << knobs << "'; return ;;\n"
         "    esac\n"
         "    case ${COMP_WORDS[1]} in\n" << cases << "    esac\n"
         "    if [[ $current == -* ]]; then\n"
         "        _wan_info_words \"$words\"\n"
         "    elif [[ ${COMP_WORDS[1]} == @(check|report|links|contention) ]]; then\n"
         "        _wan_info_files\n"
         "    elif [[ $COMP_CWORD == 2 && ${COMP_WORDS[1]} == @(plan|compare) ]]; then\n"
         "        _wan_info_words '" << collective_names(" ") << "'\n"
         "    fi\n"
         "}\n"
         "complete -F _wan_info wan-info\n";
    return s.str();
}

} // namespace info
