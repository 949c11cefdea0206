/* Starling for programs in C, and in every language that can call C: trained policies that act.
 *
 *   cc -I api act.c -L $lib -lstarling -Wl,-rpath,$lib     lib: build/release/lib
 *
 * Policies: starling_policy_open, _spaces, _act, _reset, _close. examples/policy/catch.c is a
 * whole program. Seats in a run that is being trained, for nets of your own: starling_seat.h.
 *
 * Statuses. Functions that can fail return one. After STARLING_FAILED and STARLING_MISTAKE,
 * starling_error() is one sentence: what is wrong, where, and what helps. What a function was to
 * write is then undefined, unless it says otherwise.
 *
 * Sizes. Structs that the caller owns begin with `size`, which the caller sets to their sizeof.
 * So a program works with newer libraries, whose structs have more members: those it does not know
 * are 0 for the library, or are not written. Of arrays, the dimensions are given, C order:
 * (envs, width). Functions never allocate for the caller; what they return belongs to the library,
 * and is valid until the handle is closed.
 *
 * Threads. One thread at a time uses a handle. Different handles, also of the same checkpoint, may
 * be used at once. starling_error() is that of the calling thread. A policy computes in the thread
 * that asks.
 *
 * A guest. The library starts no thread, catches no signal, and leaves the floating-point mode and
 * the number of OpenMP's threads as they are. Signals of the calling thread wait while a net
 * computes. To standard error it writes nothing but warnings (a damaged checkpoint that is passed
 * over). It ends the program only where it cannot work at all: by a fault of its own that a check
 * finds; where oneDNN finds no memory for its code; or, of a portable build, when it is loaded on
 * a processor without AVX2. A thread that acts needs a stack of 64 KiB. */
#ifndef STARLING_H
#define STARLING_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#error "Starling's library is for Linux."
#else
#define STARLING_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The interface of this header. A library has it, and all older ones back to
 * STARLING_OLDEST_INTERFACE; the file's name changes with the latter (libstarling.so.1). */
#define STARLING_INTERFACE 2
#define STARLING_OLDEST_INTERFACE 1

/* The interface of the library that runs. */
STARLING_EXPORT int32_t starling_interface(void);
/* Its build, as `starling --version` prints it. */
STARLING_EXPORT const char* starling_version(void);

typedef int32_t starling_status;
enum {
  STARLING_OK = 0,
  STARLING_FAILED = 1, /* a fault of the machine, or of Starling */
  STARLING_MISTAKE = 2 /* the caller's: a path, an argument, an observation */
};

/* The sentence of this thread's last function that failed or found a mistake; "" before the first.
 * Valid until this thread's next one. Never NULL. */
STARLING_EXPORT const char* starling_error(void);
/* Makes `sentence` starling_error(), and returns `status`: for libraries that stand on this one. */
STARLING_EXPORT starling_status starling_fail(starling_status status, const char* sentence);

/* ---- a trained policy ---- */

typedef struct starling_policy starling_policy;

typedef struct starling_policy_options {
  size_t size;    /* sizeof(starling_policy_options) */
  int32_t envs;   /* environments that act at once; 0: 1 */
  int32_t greedy; /* not 0: the likeliest action of each; 0: drawn ones */
  uint64_t seed;  /* of what is drawn */
} starling_policy_options;

/* Opens `path`, a run directory (its newest good checkpoint is taken) or a checkpoint. `options`
 * may be NULL: one environment, drawn actions, seed 0. With the seed and the observations of
 * `starling eval` the actions are the same, bit for bit, if as many environments act at once, and
 * the program has left the floating-point mode as it was. Writes NULL to `policy` if it fails.
 *
 * The environment need not be there. A checkpoint of an older Starling, which does not hold its
 * spaces, is the exception: its environment is started and asked, as training would. */
STARLING_EXPORT starling_status starling_policy_open(const char* path,
                                                     const starling_policy_options* options,
                                                     starling_policy** policy);
/* NULL is allowed. */
STARLING_EXPORT void starling_policy_close(starling_policy* policy);

/* What the policy sees and does. */
typedef struct starling_spaces {
  size_t size;     /* sizeof(starling_spaces) */
  const char* env; /* name of the environment it was trained on */
  int32_t envs;    /* starling_policy_options.envs */

  int32_t arrays;  /* of an observation: starling_policy_array */
  int32_t numbers; /* of an observation: those of its arrays, one after the other */
  int32_t mask;    /* of an action mask: the values of all choices; 0: there is none */

  int32_t box;                     /* 0: an action is choices; 1: a point of a box */
  int32_t width;                   /* of an action: the number of choices, or of coordinates */
  const int32_t* counts;           /* (width) values of each choice; NULL for a box */
  const float* low;                /* (width) bounds of each coordinate, may be infinite; */
  const float* high;               /*         NULL for choices */
  const char* const* action_names; /* (counts[0]) if there is one choice, else NULL */

  int32_t outputs;    /* of starling_policy_outputs, of each environment */
  int32_t has_memory; /* 1: actions depend on earlier observations of the episode */
  uint64_t steps;     /* of environments that it has learnt from */
} starling_spaces;
STARLING_EXPORT starling_status starling_policy_spaces(const starling_policy* policy,
                                                       starling_spaces* spaces);

/* An array of an observation. A picture is (height, width, channels), n numbers are (1, 1, n). */
typedef struct starling_array {
  size_t size;      /* sizeof(starling_array) */
  const char* name; /* of the key of a Dict; "observation" if there is one array alone */
  int32_t height, width, channels;
  float low, high; /* of every number, as its environment says; not checked */
  int32_t reserved;
} starling_array;
/* REQUIRES: 0 <= index < starling_spaces.arrays, else STARLING_MISTAKE. */
STARLING_EXPORT starling_status starling_policy_array(const starling_policy* policy, int32_t index,
                                                      starling_array* array);

/* The path of the checkpoint that was opened. */
STARLING_EXPORT const char* starling_policy_checkpoint(const starling_policy* policy);
/* The configuration of the run, in TOML. */
STARLING_EXPORT const char* starling_policy_config(const starling_policy* policy);

/* Acts once in every environment.
 *
 * observations  (envs, numbers): as the environment gives them to training: behind wrappers
 *               (env.stack, env.pixels), before normalisation, which the policy does. Finite.
 * mask          (envs, mask): 0 where a value is forbidden; at least one value of each choice is
 *               allowed. NULL if starling_spaces.mask is 0.
 * actions       (envs, width): int32_t from 0 for choices, float between the bounds for a box.
 *               NULL: nothing is drawn, and memory stays as it is; for starling_policy_values.
 *
 * After STARLING_MISTAKE nothing has changed, except that there are no values and outputs if the
 * net's are not finite: observations were too large, or its weights are damaged. */
STARLING_EXPORT starling_status starling_policy_act(starling_policy* policy,
                                                    const float* observations, const uint8_t* mask,
                                                    void* actions);

/* Of the observations of the last starling_policy_act: what the critic expects (envs), in
 * discounted rewards as training saw them; */
STARLING_EXPORT starling_status starling_policy_values(const starling_policy* policy,
                                                       float* values);
/* and the distribution of the actions (envs, outputs): the logits of each choice, one choice after
 * the other, -1e38 for forbidden values; or the mean of each coordinate, then the logarithm of the
 * deviation of each, which counts as at least -10 and at most 10, both before the bounds
 * (docs/actions.md). */
STARLING_EXPORT starling_status starling_policy_outputs(const starling_policy* policy,
                                                        float* outputs);

/* Forgets: the next observation is the first of an episode, where `begins` (envs) is not 0; in
 * every environment if it is NULL. Needed only if starling_spaces.has_memory. */
STARLING_EXPORT starling_status starling_policy_reset(starling_policy* policy,
                                                      const uint8_t* begins);
/* Draws as after starling_policy_open with this seed. */
STARLING_EXPORT starling_status starling_policy_seed(starling_policy* policy, uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
