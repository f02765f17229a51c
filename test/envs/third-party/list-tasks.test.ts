import { listTasks } from '../../../src/envs/third-party/list-tasks';
import type { ThirdPartyServer } from '../../../src/envs/third-party/read-servers';
import { startScriptedServer, type ScriptedServer } from '../../support/scripted-server';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.stop());

const list = (task: string) => {
  const answers: Record<string, string> = {
    '/list_environments': '["env"]',
    '/env/splits': '["train"]',
    '/env/tasks': `{"tasks": [{"id": 1}, ${task}]}`,
  };
  server.answerWith((path) => ({ body: answers[path] }));
  return listTasks({ name: 'other', endpoint: { url: server.url } } as ThirdPartyServer, 'train');
};

test('listed tasks have the ids of the server', async () => {
  await expect(list('{"id": 7, "goal": "g"}')).resolves.toMatchObject([{ id: '1' }, { id: '7', goal: 'g' }]);
});

test.each([
  ['{"task_id": 1e400}', 'tasks.1.task_id: found 1e400'],
  ['{"id": "a", "features": {"size": -1e400}}', 'tasks.1.features.size: found -1e400'],
  ['{"id": "a", "world": [{"x": 1e400}]}', 'tasks.1.world.0.x: found 1e400'],
  ['1e400', 'tasks.1: found 1e400'],
  ['{"id": 9223372036854775807}', 'tasks.1.id: found 9223372036854775807'],
])('the listed task %s, with a number that would change, is rejected with its field', async (task, problem) => {
  await expect(list(task)).rejects.toMatchObject({
    name: 'EnvironmentError',
    kind: 'rejected',
    message: `/env/tasks: ${problem}, expected an integer up to 2^53, a decimal up to 1.8e308, or a text`,
  });
});
