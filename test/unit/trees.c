/*
 * Steps of adaptive trees in Open MPI: what becomes of the number of a communicator that is settled by a thread that is sending, with
 * the lock of trees; and who the processes of a communicator of several jobs are said to be.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan_trees.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

mca_coll_wan_component_t mca_coll_wan_component;

static bool sending;
static uint64_t passed;
static wan_tree_peer_t told[3];

/* The core: what it is told. */
int wan_trees_pass(wan_trees_t *trees, uint64_t number, int64_t at_ns)
{
    (void) trees, (void) at_ns;
    assert_false(sending);      /* it would wait for the lock that this thread has */
    passed = number;
    return WAN_OK;
}

int wan_trees_open(const wan_params_t *params, uint32_t job, wan_trees_send_t send, void *ctx, bool mortal, wan_trees_t **trees)
{
    (void) params, (void) job, (void) send, (void) ctx, (void) mortal, (void) trees;
    return WAN_ERR_NOMEM;
}

int wan_trees_step(wan_trees_t *trees, int64_t at_ns)
{
    (void) trees, (void) at_ns;
    return WAN_OK;
}

int wan_comm_use_trees(wan_comm_t *comm, wan_trees_t *trees, uint64_t number, uint64_t more, const wan_tree_peer_t *peers, int64_t at_ns, int *known)
{
    (void) comm, (void) trees, (void) number, (void) more, (void) at_ns;
    memcpy(told, peers, sizeof(told));
    *known = 0;
    return WAN_OK;
}

bool wan_comm_wants_trees(const wan_comm_t *comm)
{
    (void) comm;
    return true;
}

void wan_trees_fail(wan_trees_t *trees) { (void) trees; }
void wan_trees_quiet(wan_trees_t *trees) { (void) trees; }
void wan_trees_close(wan_trees_t *trees) { (void) trees; }

/* The rest of the glue. */
bool mca_coll_wan_trees_sending(void) { return sending; }
bool mca_coll_wan_ways_enter(void) { return !sending; }
void mca_coll_wan_ways_leave(void) {}
void mca_coll_wan_ways_close(void) {}
bool mca_coll_wan_ways_sent(void) { return true; }
void mca_coll_wan_ways_end(wan_way_t *way) { (void) way; }
void mca_coll_wan_progress_add(wan_item_t *item) { (void) item; }

bool mca_coll_wan_ways_step(unsigned *taken)
{
    (void) taken;
    return true;
}

static int first_number;

wan_way_t *mca_coll_wan_ways_open(wan_trees_t *trees, struct ompi_communicator_t *of, struct ompi_communicator_t *comm, int first)
{
    (void) trees, (void) of, (void) comm;
    first_number = first;
    return (wan_way_t *) &first_number;
}

wan_way_t *mca_coll_wan_ways_find(const struct ompi_communicator_t *of)
{
    (void) of;
    return NULL;
}

int mca_coll_wan_ways_process(const wan_way_t *way, int rank)
{
    (void) way;
    return first_number + rank;
}

void mca_coll_wan_ways_send(void *ctx, int process, const void *head, size_t head_size, const void *payload, size_t payload_size,
                            size_t counted)
{
    (void) ctx, (void) process, (void) head, (void) head_size, (void) payload, (void) payload_size, (void) counted;
}

int mca_coll_wan_module_copy(mca_coll_wan_module_t *module, struct ompi_communicator_t **copy)
{
    *copy = module->comm;
    return OMPI_SUCCESS;
}

const char *mca_coll_wan_message_communicator(struct ompi_communicator_t *comm, char text[WAN_COMMUNICATOR_MAX])
{
    (void) comm;
    text[0] = '\0';
    return text;
}

int mca_coll_wan_code(int code, const wan_run_t *run, const mca_coll_wan_port_t *port)
{
    (void) run, (void) port;
    return WAN_OK == code ? OMPI_SUCCESS : OMPI_ERROR;
}

static int64_t no_time(void *ctx)
{
    (void) ctx;
    return 0;
}

const wan_port_t mca_coll_wan_port_pml = { .now_ns = no_time };

static void begin(int64_t numbers)
{
    static char trees;

    all.trees = (wan_trees_t *) &trees;
    all.under_way = true;
    all.numbers = numbers;
    all.asking = 1;
    all.late = false;
    passed = 0;
}

static void tells_when_all_are_settled(void **state)
{
    (void) state;
    begin(5);
    ++all.asking;
    mca_coll_wan_trees_settle(4, INT64_MAX);
    assert_int_equal(passed, 0);
    mca_coll_wan_trees_settle(5, 7);
    assert_int_equal(passed, 8);
}

static void tells_by_a_step_what_was_settled_while_sending(void **state)
{
    (void) state;
    begin(5);
    sending = true;
    mca_coll_wan_trees_settle(5, INT64_MAX);
    assert_int_equal(step(&all.item), WAN_STEP_IDLE);       /* progress inside a send */
    sending = false;
    assert_int_equal(passed, 0);
    (void) step(&all.item);
    assert_int_equal(passed, 6);
    passed = 0;
    (void) step(&all.item);
    assert_int_equal(passed, 0);
}

static void does_not_tell_late_what_is_asked_for_again(void **state)
{
    (void) state;
    begin(5);
    sending = true;
    mca_coll_wan_trees_settle(5, INT64_MAX);
    sending = false;
    ++all.asking;
    all.numbers = 6;
    (void) step(&all.item);
    assert_int_equal(passed, 0);
    mca_coll_wan_trees_settle(6, 6);
    assert_int_equal(passed, 7);
}

/* Those of another job, by names of Open MPI's, which they keep; numbers are new for each communicator. */
static void tells_who_processes_are(void **state)
{
    static ompi_proc_t procs[3];
    static ompi_proc_t *pointers[3] = { &procs[0], &procs[1], &procs[2] };
    static ompi_group_t group = { .grp_proc_count = 3, .grp_proc_pointers = pointers };
    static ompi_communicator_t comm = { .c_local_group = &group, .c_my_rank = 1 };
    static mca_coll_wan_module_t module = { .comm = &comm };
    const uint32_t mine = OPAL_PROC_MY_NAME.jobid, other = mine + 0x30001;

    (void) state;
    procs[0].super.proc_name = (opal_process_name_t){ .jobid = other, .vpid = 1 };
    procs[1].super.proc_name = (opal_process_name_t){ .jobid = mine, .vpid = 1 };
    procs[2].super.proc_name = (opal_process_name_t){ .jobid = other, .vpid = 0 };
    begin(5);
    all.processes = 2;
    for (int time = 0; time < 2; ++time) {
        assert_int_equal(mca_coll_wan_trees_use(&module, 5, true), OMPI_SUCCESS);
        for (int r = 0; r < 3; ++r) {
            assert_int_equal(told[r].process, 2 + 3 * time + r);
            assert_int_equal(told[r].job, procs[r].super.proc_name.jobid);
            assert_int_equal(told[r].rank, procs[r].super.proc_name.vpid);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(tells_when_all_are_settled),
                                        cmocka_unit_test(tells_by_a_step_what_was_settled_while_sending),
                                        cmocka_unit_test(does_not_tell_late_what_is_asked_for_again),
                                        cmocka_unit_test(tells_who_processes_are) };

    return cmocka_run_group_tests_name("steps of adaptive trees in Open MPI", tests, NULL, NULL);
}
