/*
 * Messages for users.  The text is in help-mpi-coll-wan.txt.  Where that file is
 * nowhere, the message is printed without its text: a user must never read "sorry,
 * no help file" in its place.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdio.h>

#include "opal/mca/installdirs/installdirs.h"
#include "opal/util/proc.h"
#include "wan_show_help.h"

void mca_coll_wan_message_show(const char *topic, const wan_message_t *message)
{
    static const char file[] = "help-mpi-coll-wan.txt";
    static int found = -1;
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    if (-1 == found) {
        found = wan_help_found(file, &mca_coll_wan_component);
    }
    if (found) {
        /* Of equal ones of a host the first alone is shown. */
        WAN_VERBOSE(4, "%s: %s; %s", message->where, message->what, message->remedy);
        wan_show_help(file, topic, host, message->where, message->what, message->remedy);
    } else {
        opal_output(0, "coll/wan: %s: %s; %s", message->where, message->what, message->remedy);
    }
}

const char *mca_coll_wan_message_communicator(struct ompi_communicator_t *comm, char text[WAN_COMMUNICATOR_MAX])
{
    const opal_process_name_t first = ompi_group_get_proc_name(comm->c_local_group, 0);
    const int length = snprintf(text, WAN_COMMUNICATOR_MAX, "communicator %u of %d ranks", (unsigned) mca_coll_wan_compat_cid(comm),
                                ompi_comm_size(comm));

    if (comm != &ompi_mpi_comm_world.comm) {
        snprintf(text + length, WAN_COMMUNICATOR_MAX - length, " (the first is rank %u of %s job)", (unsigned) first.vpid,
                 first.jobid == OPAL_PROC_MY_NAME.jobid ? "the" : "another");
    }
    return text;
}
