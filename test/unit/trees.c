/*
 * Steps of adaptive trees in Open MPI: what becomes of the number of a communicator that is settled by a thread that is sending, with
 * the lock of trees.
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

int wan_comm_use_trees(wan_comm_t *comm, wan_trees_t *trees, uint64_t number, uint64_t more, const int *processes, int64_t at_ns)
{
    (void) comm, (void) trees, (void) number, (void) more, (void) processes, (void) at_ns;
    return WAN_OK;
}

bool wan_comm_wants_trees(const wan_comm_t *comm)
{
    (void) comm;
    return false;
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

wan_way_t *mca_coll_wan_ways_open(wan_trees_t *trees, struct ompi_communicator_t *of, struct ompi_communicator_t *comm, int first)
{
    (void) trees, (void) of, (void) comm, (void) first;
    return NULL;
}

wan_way_t *mca_coll_wan_ways_find(const struct ompi_communicator_t *of)
{
    (void) of;
    return NULL;
}

int mca_coll_wan_ways_process(const wan_way_t *way, int rank)
{
    (void) way;
    return rank;
}

void mca_coll_wan_ways_send(void *ctx, int process, const void *head, size_t head_size, const void *payload, size_t payload_size,
                            size_t counted)
{
    (void) ctx, (void) process, (void) head, (void) head_size, (void) payload, (void) payload_size, (void) counted;
}

int mca_coll_wan_module_copy(mca_coll_wan_module_t *module, struct ompi_communicator_t **copy)
{
    (void) module, (void) copy;
    return OMPI_ERROR;
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(tells_when_all_are_settled),
                                        cmocka_unit_test(tells_by_a_step_what_was_settled_while_sending),
                                        cmocka_unit_test(does_not_tell_late_what_is_asked_for_again) };

    return cmocka_run_group_tests_name("steps of adaptive trees in Open MPI", tests, NULL, NULL);
}
