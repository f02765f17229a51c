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
  ['{"task_id": 1e400}', 'tasks.1.task_id: found Infinity'],
  ['{"id": "a", "features": {"size": -1e400}}', 'tasks.1.features.size: found -Infinity'],
  ['{"id": "a", "world": [{"x": 1e400}]}', 'tasks.1.world.0.x: found Infinity'],
  ['1e400', 'tasks.1: found Infinity'],
])('the listed task %s, with a number that no JSON can store, is rejected with its field', async (task, problem) => {
  await expect(list(task)).rejects.toMatchObject({
    name: 'EnvironmentError',
    kind: 'rejected',
    message: `/env/tasks: ${problem}, expected a finite number`,
  });
});
