/*
 * Ways of adaptive trees' messages in Open MPI: when they are over, with mail of their own, and what the core is told then.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define ompi_comm_free comm_freed       /* of what is no communicator of Open MPI's */
#include "coll_wan_ways.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int64_t no_time(void *ctx)
{
    (void) ctx;
    return 0;
}

const wan_port_t mca_coll_wan_port_pml = { .now_ns = no_time };

/* The mail: `letters` are on their way, but for who has them in hand. */
static char letter;
static int stopped;

bool mca_coll_wan_mail_open(wan_mail_t *mail, struct ompi_communicator_t *comm, int tag, size_t most)
{
    (void) tag, (void) most;
    memset(mail, 0, sizeof(*mail));
    mail->comm = comm;
    stopped = 0;
    return true;
}

bool mca_coll_wan_mail_sent(const wan_mail_t *mail)
{
    return NULL == __atomic_load_n(&mail->letters, __ATOMIC_RELAXED);
}

bool mca_coll_wan_mail_reap(wan_mail_t *mail)
{
    return mca_coll_wan_mail_sent(mail);
}

int mca_coll_wan_mail_take(wan_mail_t *mail, int (*take)(void *ctx, int rank, const void *bytes, size_t size), void *ctx,
                           unsigned *taken)
{
    (void) mail, (void) take, (void) ctx, (void) taken;
    return WAN_OK;
}

void mca_coll_wan_mail_send(wan_mail_t *mail, int rank, const void *head, size_t head_size, const void *rest, size_t rest_size,
                            size_t counted)
{
    (void) mail, (void) rank, (void) head, (void) head_size, (void) rest, (void) rest_size, (void) counted;
}

void mca_coll_wan_mail_stop(wan_mail_t *mail)
{
    assert_null(mail->letters);
    ++stopped;
}

void mca_coll_wan_mail_close(wan_mail_t *mail) { (void) mail; }
void mca_coll_wan_mail_release(wan_mail_t *mail) { (void) mail; }

/* The rest. */
bool mca_coll_wan_progress_inside(void) { return false; }

static int forgotten_from, forgotten;

void wan_trees_forget(wan_trees_t *trees, int first, int count)
{
    (void) trees;
    assert_null(all.ways);                  /* nobody sends by it */
    /* Others may be sending, with the lock of the trees, which this waits for: they take this one. */
    assert_int_equal(pthread_mutex_trylock(&lock), 0);
    assert_int_equal(pthread_mutex_unlock(&lock), 0);
    forgotten_from = first;
    forgotten = count;
}

int comm_freed(ompi_communicator_t **comm)
{
    *comm = NULL;
    return OMPI_SUCCESS;
}

int wan_trees_receive(wan_trees_t *trees, int process, const void *bytes, size_t size, int64_t at_ns)
{
    (void) trees, (void) process, (void) bytes, (void) size, (void) at_ns;
    return WAN_OK;
}

int wan_trees_arrived(wan_trees_t *trees, int process, size_t counted, int64_t at_ns)
{
    (void) trees, (void) process, (void) counted, (void) at_ns;
    return WAN_OK;
}

static ompi_group_t two = { .grp_proc_count = 2 };
static ompi_communicator_t copy = { .c_local_group = &two };

static bool step(void)
{
    unsigned taken = 0;
    bool right;

    assert_true(mca_coll_wan_ways_enter());
    right = mca_coll_wan_ways_step(&taken);
    mca_coll_wan_ways_leave();
    return right;
}

/* Both have said and heard all, and a letter is on its way. */
static wan_way_t *way_open(void)
{
    wan_way_t *way = mca_coll_wan_ways_open(NULL, &copy, &copy, 2);

    assert_non_null(way);
    way->said = WORD_CLOSED | WORD_DONE;
    way->heard[0] = way->heard[1] = WORD_CLOSED | WORD_DONE;
    way->leaving = true;
    way->mail.letters = (struct wan_letter *) &letter;
    return way;
}

static void way_close(wan_way_t *way)
{
    all.ways = NULL;
    free(way->heard);
    free(way);
}

static void is_over_when_all_has_gone(void **state)
{
    wan_way_t *way = way_open();

    (void) state;
    assert_true(step());
    assert_false(way->over);
    way->mail.letters = NULL;
    assert_true(step());
    assert_true(way->over);
    assert_int_equal(stopped, 1);
    way_close(way);
}

/* The core keeps nothing of what was sent by it: its numbers name nobody any more. */
static void numbers_go_with_it(void **state)
{
    wan_way_t *way = way_open();

    (void) state;
    forgotten = 0;
    way->alone = true;
    assert_true(step());
    assert_int_equal(forgotten, 0);
    way->mail.letters = NULL;
    assert_true(step());
    assert_null(all.ways);
    assert_int_equal(forgotten_from, 2);
    assert_int_equal(forgotten, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(is_over_when_all_has_gone),
                                        cmocka_unit_test(numbers_go_with_it) };

    return cmocka_run_group_tests_name("ways of adaptive trees' messages", tests, NULL, NULL);
}
