import { approvalSteps } from './approval';

/** Why a phase parks, in one sentence, and the operator's next step. docs/parked.md has the same rows. */
type ParkedReason = { cause: string; next: string };

/**
 * All reasons for which a phase parks, by their code: the code of a DomainError, or the type of another failure of an
 * activity. A failure without a code of this list is `Unexpected`.
 */
export const parkedReasons = {
  'EnvironmentError.unreachable': {
    cause: 'the environment server does not answer, or cannot host the environment',
    next: '`coevolve up`, after the correction of a file that the reason names; start a server elsewhere by hand',
  },
  'EnvironmentError.capacity': {
    cause: 'the environment server was full for 45 minutes',
    next: 'raise its `pool`, or run fewer rollout workers',
  },
  'EnvironmentError.unfinished': {
    cause: 'the environment server did not finish a long request',
    next: 'resume: the request continues where it ended',
  },
  'EnvironmentError.fault': {
    cause: 'the environment server failed, or sent an answer that training cannot use or that is too large',
    next: 'read its log, correct or replace it, then resume',
  },
  'EnvironmentError.rejected': {
    cause: 'the environment server rejects a request',
    next: 'correct the token, the version of the server or the options that the reason names',
  },
  'ModelError.unavailable': {
    cause: 'a policy server or a provider of models does not answer, is overloaded, or sends unusable answers',
    next: 'policy server: `coevolve up`, `logs/policy-server.log`; provider: wait, or lower its limits in the file of providers',
  },
  'ModelError.rejected': {
    cause: 'a policy server or a provider of models rejects a request',
    next:
      'policy server: `coevolve doctor`, and `coevolve up` if another program answers at its address; provider: correct key (401, 403), ' +
      'payment (402) or url, add the model (404); setting: a fork with the `--set` that the reason names',
  },
  'ModelError.refused': {
    cause: 'a content filter of the provider stopped a prompt',
    next: 'another campaign with another provider or model',
  },
  'ModelError.unknown-model': {
    cause: 'the policy server does not serve a policy: it is damaged, or the server does not see it',
    next: 'restore it in `artifacts/policies`, or mount the artifacts at the same path',
  },
  'ModelError.context-full': {
    cause: "a prompt exceeds the model's context",
    next: 'another campaign with a larger model or smaller `synthesis.exploration.maxTurns`',
  },
  'BackendError.unavailable': {
    cause: 'the training backend does not answer, or a trainer crashed 6 times',
    next: '`coevolve logs <campaign> --job <k>/<role>` prints the output of the trainer',
  },
  'BackendError.rejected': {
    cause: 'the training backend rejects a job',
    next: 'correct the settings of the backend that the reason names',
  },
  Database: { cause: 'Postgres reports an error or does not answer', next: 'resume when it answers again' },
  WorkerCrashed: {
    cause: 'the workers of an activity crashed several times in a row',
    next: '`coevolve logs <campaign>`; more memory or disk space, then resume',
  },
  Timeout: { cause: 'an activity did not end in time', next: '`coevolve doctor`, then resume' },
  ConfigError: {
    cause: 'a variable of a worker has an unusable value',
    next: 'correct the variable, then `coevolve down` and `coevolve up`',
  },
  StackError: { cause: 'the installation of a worker is incomplete', next: 'run the command that the reason names' },
  StateMismatch: {
    cause: 'the database is older than the workflow, as after a restored backup',
    next: '`coevolve reconcile <campaign>`',
  },
  MissingFunctions: {
    cause: 'the database lacks a list of functions that an attempt refers to',
    next: 'restore the database, then `coevolve reconcile <campaign>`',
  },
  StaleEpoch: {
    cause: 'a later run owns the iteration',
    next: '`coevolve reconcile <campaign>` ends the workflows that earlier runs have left',
  },

  NoExperts: { cause: 'a task has no reference actions', next: 'install what the reason names, or import experts' },
  UnknownExperts: {
    cause: 'the imported experts of the spec are not stored here',
    next: '`coevolve experts import` of the same file, then resume',
  },
  WrongEnvironment: {
    cause: 'the imported experts belong to another environment',
    next: 'another campaign with experts of its environment',
  },
  OverlappingSplits: {
    cause: 'the environment returns equal tasks in both splits',
    next: 'correct the environment, then start another campaign',
  },
  TooFewTasks: {
    cause: 'the environment has fewer tasks than the spec requires',
    next: 'start another campaign with a smaller number',
  },
  NoGenerator: {
    cause: 'the environment has no task generator',
    next: 'start another campaign with an `llm` section',
  },
  NothingScored: {
    cause: 'nothing to train on: attempts or experts are faults or scored 0',
    next: 'after faults `coevolve doctor`, then resume; otherwise a campaign with other experts',
  },
  EmptyPool: {
    cause: 'no task is left to play: none was admitted, or all have retired',
    next: '`coevolve tasks <campaign> --verdicts`; start another with more candidates or without retirement',
  },
  MatchTooEarly: {
    cause: 'the matched campaign has not validated the iteration (`synthesis.match`)',
    next: 'wait until it has, then resume; if it ended without doing so, this campaign cannot continue',
  },
  ApprovalNeeded: {
    cause: 'tasks or a policy wait for approval',
    next: `tasks: ${approvalSteps.tasks}; a policy: ${approvalSteps.policy}`,
  },

  'TrainingFailed.disk-full': { cause: 'the trainer found no free disk space', next: 'free disk space, then resume' },
  'TrainingFailed.out-of-memory': {
    cause: 'the trainer needs more memory than there is',
    next: 'more memory, or another campaign with a smaller `maxLength`, an adapter or `compute.gradientCheckpointing: on`',
  },
  'TrainingFailed.diverged': {
    cause: 'the loss or the gradient of a training job is not finite, or keeps growing',
    next:
      'a fork, or before iteration 1 another campaign, with a lower rate: `coevolve fork <campaign> --from-iteration <last> ' +
      '--set training.<method>.learningRate=<rate>`',
  },
  'TrainingFailed.lost-actions': {
    cause: 'the row length of a training job cuts off more actions than `maxLostActions` allows',
    next:
      'a fork, or before iteration 1 another campaign, with the keys and the length that the reason names: ' +
      '`coevolve fork <campaign> --from-iteration <last> --set <key>=<length>`',
  },
  'TrainingFailed.bad-input': {
    cause: 'a training job, its files or its settings are wrong',
    next: 'another campaign without what the reason names; where it is `token_ids`, `coevolve reconcile <campaign>` plays these attempts again',
  },
  'TrainingFailed.stalled': { cause: 'a training job made no progress', next: 'resume: the job continues' },
  'TrainingFailed.cancelled': { cause: 'a training job was cancelled', next: 'resume: the job continues' },
  'TrainingFailed.already-running': {
    cause: 'another process runs the training job',
    next: 'resume when it has ended',
  },
  'TrainingFailed.internal': { cause: 'the trainer has a fault', next: 'report it, with the log of the job' },
  MissingLogprobs: {
    cause: 'training cannot use the tokens of attempts',
    next: '`coevolve reconcile <campaign>` plays these attempts again',
  },
  CorruptCheckpoint: {
    cause: 'a policy does not have the hash of its manifest',
    next: "delete `policy` and `status.json` in the job's folder; the job resumes from a checkpoint",
  },
  UnknownModel: {
    cause: 'the imported model of the spec is not stored here',
    next: '`coevolve model import` of the same source, then resume',
  },
  NoCluster: {
    cause: "a worker has no cluster for the campaign's training backend",
    next: 'set the variable that the reason names, then `coevolve up`',
  },
  UnknownBackend: {
    cause: 'a training job began on a backend that this release does not have',
    next: 'a worker of the release that began it',
  },
  UnknownPolicy: { cause: 'a policy is not in the artifacts', next: 'restore the artifacts, then resume' },
  JobFolderTaken: {
    cause: 'a campaign of the same name on another database trains in the folder of a job',
    next: 'wait until it has ended, or set a `COEVOLVE_ARTIFACTS` of its own and `coevolve up`; then resume',
  },
  TooFewDevices: {
    cause: 'a training job needs more devices than the machine has',
    next: 'a worker on a larger machine, or another campaign with fewer `compute.processes`',
  },

  BudgetReached: {
    cause: 'the budget of the campaign is reached',
    next: 'the `coevolve budget raise` that the reason names; it resumes the campaign too',
  },
  NoProviders: {
    cause: 'a worker runs without providers of models',
    next: 'set `COEVOLVE_LLM_PROVIDERS`, then `coevolve up`',
  },
  UnknownProvider: {
    cause: 'a worker runs without the provider of a model',
    next: 'add it to the file of providers, then `coevolve up`',
  },
  CallTooLarge: {
    cause: 'a call may take more tokens than `tokensPerMinute` of its provider',
    next: 'raise the limit in the file of providers, then `coevolve up`',
  },
  UselessAnswers: {
    cause: 'a language model gave as many unusable answers in a row as `llm.uselessAnswers` allows',
    next:
      '`coevolve calls <campaign> --useless` shows them; correct the model at its provider, then resume, or a fork with ' +
      'another `--set llm.models.<role>.model`',
  },
  UntrustedJudge: {
    cause: 'the judge was never calibrated, or disagrees with its newest calibration',
    next:
      'a fork, or before iteration 1 another campaign, with a better judge, a lower `judge.minimumAgreement`, `judge.whenUntrusted=solver`, or where it grades attempts ' +
      '`synthesis.grader=environment`: `coevolve fork <campaign> --from-iteration <last> --set <key>=<value>`',
  },

  NotSkippable: { cause: 'the phase cannot be skipped', next: 'resume or abort the campaign' },
  Unexpected: {
    cause: 'a failure without a code of its own',
    next: 'follow the reason; report it if it names a fault of the program',
  },
} as const satisfies Record<string, ParkedReason>;

export type ParkedCode = keyof typeof parkedReasons;

export const isParkedCode = (code: unknown): code is ParkedCode =>
  typeof code === 'string' && Object.hasOwn(parkedReasons, code);

/** Codes of rows that `coevolve reconcile` repairs. */
export const repairedByReconcile: readonly ParkedCode[] = ['StateMismatch', 'MissingLogprobs'];

/** Returns the code of a stored reason; null while there is none. */
export function parkedCode(stored: {
  parked: string | null;
  parkedCode?: ParkedCode | null | undefined;
}): ParkedCode | null {
  return stored.parked === null ? null : (stored.parkedCode ?? codeOfRelease010(stored.parked));
}

/** Release 0.1.0 recorded no codes. Its campaigns may still be parked, so two of its sentences have a code. */
function codeOfRelease010(sentence: string): ParkedCode {
  if (sentence.includes('wait for approval')) return 'ApprovalNeeded';
  return sentence.includes('coevolve reconcile') ? 'StateMismatch' : 'Unexpected';
}
