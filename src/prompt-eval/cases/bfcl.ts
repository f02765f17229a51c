import type { CaseWorld, KnownAttempt } from './prompt-case';

const calls = (kind: KnownAttempt['kind'], ...steps: string[]): KnownAttempt => ({ kind, actions: steps });

const done = 'Done.';
const unlock = "lockDoors(unlock=True, door=['driver', 'passenger', 'rear_left', 'rear_right'])";
const lightsOn = "setHeadlights(mode='on')";
const temperature = 'get_outside_temperature_from_google()';
const send = (receiver: string, message: string): string =>
  `send_message(receiver_id='${receiver}', message='${message}')`;
const review = '[view_messages_sent()]';

/** Any answer without a call ends a turn there; only the own sign-off of the environment counts as meant. */
export const bfclCases: CaseWorld = {
  name: 'bfcl',
  options: {},
  draw: { count: 40, seed: 1 },
  isUnread: ({ action }) => action !== done && !/(?:^|[[\s,;`])[A-Za-z_][\w.]*\(/.test(action),
  cases: [
    {
      name: 'bfcl-one-turn',
      aim: 'boundary',
      task: 'bfcl/base/050',
      attempts: [
        calls('partial', `[${unlock}]`, done),
        calls('other-request', `[${unlock.replace('True', 'False')}, ${lightsOn}]`, done),
        calls('extra', `[${unlock}, ${lightsOn}, fillFuelTank(fuelAmount=5.0)]`, done),
        calls('right', `[${lightsOn}]`, `[${unlock}]`, done),
      ],
    },
    {
      name: 'bfcl-two-turns',
      aim: 'forgetting',
      task: 'bfcl/base/091',
      attempts: [
        calls('mistake', `[${temperature}, ${send('USR005', 'It is hot outside.')}]`, done, review, done),
        calls('partial', `[${temperature}]`, done, review, done),
        calls('other-request', `[${temperature}, ${send('USR006', 'It is cold outside.')}]`, done, review, done),
        calls('right', `[${temperature}]`, `[${send('USR006', 'It is hot outside.')}]`, done, review, done),
      ],
    },
  ],
};
