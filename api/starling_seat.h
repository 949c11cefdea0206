/* A seat in a run that is being trained, for programs in C and in every language that can call C:
 * they compute gradients of a net of their own, and a learner of Starling applies them under its
 * staleness bound.
 *
 *   cc -I api actor.c -L $lib -lstarling-seat -lstarling -Wl,-rpath,$lib     lib: build/release/lib
 *
 * The run has net.kind = "external": docs/external-nets.md. A whole program is
 * examples/seat/regression.c. In short:
 *
 *   starling_seat_open(NULL, NULL, &seat);       the place that `starling train` gave
 *   starling_seat_join(seat, -1);                then: _facts, _tensor, _config
 *   while (starling_seat_next(seat, -1, &grant) == STARLING_OK) {
 *     if (starling_seat_weights(seat, weights, &held) != STARLING_OK) continue;
 *     ... compute a gradient of them ...
 *     starling_seat_push(seat, gradient, &push);
 *   }
 *   starling_seat_close(seat);
 *
 * Statuses, sizes and threads: as in starling.h, and starling_error() is the same.
 *
 * A guest. A seat starts threads: one that joins, listens, and tells the learner that this program
 * lives, and those of ZeroMQ. All signals are blocked in them. A program that makes no call for
 * staleness.deadline_s + wire.timeout_s counts as hung, and loses its seat: as if the learner were
 * lost. A seat raises the soft limit of open files to the hard one. In a forked child it
 * is of no use, and closing it does nothing. To standard error it writes warnings alone. Calls
 * that wait do not end at a signal: give them a time, and call again. */
#ifndef STARLING_SEAT_H
#define STARLING_SEAT_H

#include "starling.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Statuses that are no failure; starling_error() has nothing to say about them. */
enum {
  STARLING_LATER = 3, /* not within the time that the call may take: call again */
  STARLING_LOST = 4,  /* the learner was lost, and what was under way with it: starling_seat_next
                       * joins it, or the one that follows it, again */
  STARLING_OVER = 5   /* the run has ended, or stops: close the seat. What `starling train` has
                       * started then has three seconds until SIGTERM */
};

typedef struct starling_seat starling_seat;

typedef struct starling_seat_options {
  size_t size;             /* sizeof(starling_seat_options) */
  const char* secret;      /* of a learner with keys: our secret key, NAME.secret, ... */
  const char* learner_key; /* ... and the learner's public one, NAME.public; else NULL */
  double connect_timeout;  /* seconds to wait for a learner; 0: 60 */
  int32_t slot;            /* from 1: the slot to ask for, plus 1; 0: any */
  int32_t reserved;        /* 0 */
} starling_seat_options;

/* Begins to join the learner at `place`: a run directory of this host, an endpoint
 * ("tcp://HOST:PORT"), or a file with one (RUN/endpoint). NULL: the run that has started this
 * program by actors.command, or starling-actor that has become it, which it knows from its
 * environment (STARLING_RUN_DIR, ...: docs/external-nets.md). `options` may be NULL. Does not wait.
 * Writes NULL to `seat` if it fails. */
STARLING_EXPORT starling_status starling_seat_open(const char* place,
                                                   const starling_seat_options* options,
                                                   starling_seat** seat);
/* Leaves the run; up to a fifth of a second. NULL is allowed. */
STARLING_EXPORT void starling_seat_close(starling_seat* seat);

/* Waits up to `seconds` (negative: without end) until it is a member: STARLING_OK, _LATER or _OVER.
 * STARLING_MISTAKE: the learner refuses it, or trains a net of Starling's own. STARLING_FAILED: no
 * learner within connect_timeout; another call tries again. */
STARLING_EXPORT starling_status starling_seat_join(starling_seat* seat, double seconds);

/* Of the newest membership. REQUIRES, as all below: starling_seat_join has returned STARLING_OK
 * once, else STARLING_MISTAKE. */
typedef struct starling_seat_facts {
  size_t size;         /* sizeof(starling_seat_facts) */
  uint64_t numbers;    /* of the weights, and of a gradient: one flat vector */
  int32_t tensors;     /* in it: starling_seat_tensor */
  uint32_t slot;       /* of this actor: from it and the seed its random numbers may derive */
  uint64_t seed;       /* run.seed */
  uint64_t applied;    /* gradients of this seat that were applied, as far as it has heard, ... */
  uint64_t refused;    /* ... and that were refused */
  const char* refusal; /* why the last of these was, as in summary.json ("stale"); "" if none was.
                        * Valid until the next call with this seat */
} starling_seat_facts;
STARLING_EXPORT starling_status starling_seat_get_facts(starling_seat* seat,
                                                        starling_seat_facts* facts);

/* A tensor of the net, in C order, float32. Between tensors there may be gaps, which are 0. */
typedef struct starling_tensor {
  size_t size;          /* sizeof(starling_tensor) */
  const char* name;     /* valid, with `shape`, until the seat is closed */
  const int64_t* shape; /* (dimensions); NULL if there are none: a scalar */
  int32_t dimensions;
  int32_t reserved;
  uint64_t first; /* its first number in the flat vector */
  uint64_t count; /* of its numbers */
} starling_tensor;
/* REQUIRES: 0 <= index < starling_seat_facts.tensors, else STARLING_MISTAKE. */
STARLING_EXPORT starling_status starling_seat_tensor(starling_seat* seat, int32_t index,
                                                     starling_tensor* tensor);

/* The configuration of the run, in TOML; "" before it has joined. Valid until the next call of
 * starling_seat_next or _join. */
STARLING_EXPORT const char* starling_seat_config(starling_seat* seat);

/* The permission to compute one gradient. */
typedef struct starling_grant {
  size_t size;      /* sizeof(starling_grant) */
  uint64_t number;  /* of this grant */
  uint64_t version; /* of the weights, the lowest that it may be computed on */
} starling_grant;
/* Waits up to `seconds` (negative: without end) for a grant, and joins again before that if the
 * learner was lost: STARLING_OK, _LATER or _OVER, else as starling_seat_join. A grant that no
 * gradient has spent is returned again. One that is not spent within staleness.deadline_s ends: its
 * gradient is refused. */
STARLING_EXPORT starling_status starling_seat_next(starling_seat* seat, double seconds,
                                                   starling_grant* grant);

/* Describes weights. */
typedef struct starling_weights {
  size_t size;      /* sizeof(starling_weights) */
  uint64_t version; /* updates that have been applied to them */
  uint64_t steps;   /* environment steps, or examples, that they have learnt from */
  double entropy;   /* the entropy coefficient of [loss] at these steps */
  uint32_t term;    /* of the learner; 0: the array holds no weights yet */
  uint32_t reserved;
} starling_weights;
/* Updates an array of the caller's, (numbers), to the newest weights, at least of the version of
 * the grant. `held` says what the array holds: all but its size is 0 before the first call, and
 * what the last call wrote after it; nothing is copied if those are the newest. It waits only if
 * the weights travel in messages. STARLING_OK, or _LOST. */
STARLING_EXPORT starling_status starling_seat_weights(starling_seat* seat, float* weights,
                                                      starling_weights* held);

/* Writes to `space` where the next gradient, (numbers), can be made without a copy: memory that
 * the learner reads, if it shares any. Its content is undefined. Valid until the next
 * starling_seat_push, _next or _join. STARLING_OK, or _LOST. */
STARLING_EXPORT starling_status starling_seat_space(starling_seat* seat, float** space);

/* What a gradient comes from. Members that are not known are 0. */
typedef struct starling_push {
  size_t size;                             /* sizeof(starling_push) */
  uint32_t samples;                        /* environment steps, or examples; 1 to 1000000 */
  int32_t episodes;                        /* that have ended since the last push */
  const double* returns;                   /* (episodes) */
  const uint64_t* lengths;                 /* (episodes) in steps */
  double policy_loss, value_loss, entropy; /* means over the samples, for the run's metrics */
} starling_push;
/* Pushes a gradient, (numbers), of the last starling_seat_weights, under the last grant, and does
 * not wait for its fate. It is the gradient of the mean loss over the samples, and is clipped to
 * optimizer.clip_norm; an update of several gradients is their mean, weighted by samples.
 * `gradient` is the space of starling_seat_space, whose content changes, or another array, which
 * is copied.
 *
 * STARLING_OK, or _LOST: it counts nowhere. STARLING_MISTAKE: a number is not finite, the grant is
 * spent, the weights are older than the grant asks for, `push` is not possible. Then the grant is
 * there as before, and the learner has heard of nothing. */
STARLING_EXPORT starling_status starling_seat_push(starling_seat* seat, const float* gradient,
                                                   const starling_push* push);

#ifdef __cplusplus
}
#endif

#endif
