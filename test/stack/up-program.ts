// Starts services of the stack, prints its progress and at the end `status <JSON>`. Run by `runProgram`.
import { readConfig } from '../../src/config';
import { stackStatus, stackUp, type ServiceName } from '../../src/stack';
import { programInput } from '../support/run-program';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

stackUp(readConfig(), { services: programInput() as ServiceName[], onProgress: print }).then(
  () => print(`status ${JSON.stringify(stackStatus(readConfig()))}`),
  (error: unknown) => {
    process.stderr.write(String(error));
    process.exitCode = 1;
  },
);
