import { statedAction } from '../../../../src/domain/tasks/admission/stated-actions';

test.each([
  [
    'SELECT singer_id, MAX(sales) FROM song GROUP BY singer_id',
    ['select singer_id , max( sales )\nfrom song group by singer_id;'],
  ],
  ['Run exactly this query: SELECT COUNT(*) FROM singer', ['SELECT COUNT ( * ) FROM singer']],
  [
    'Please answer "SHOW TABLES"; then SELECT name FROM singer.',
    ['SHOW TABLES', 'Action: ```sql\nSELECT name FROM singer\n```'],
  ],
  ['Show tables', ['SHOW TABLES']],
  ['open door, go north', ['open door', 'go north']],
  ['Call apis.simple_note.show_note(note_id=4) for me', ['print(1)', 'apis.simple_note.show_note(note_id=4)']],
  ["[post_tweet(content='Good morning')]", ["[post_tweet(content='Good morning')]"]],
])('the query %j states an action of %j', (query, actions) => {
  expect(actions).toContain(statedAction(query, actions));
});

test.each([
  ['How many singers are there?', ['SELECT COUNT(*) FROM singer']],
  ['List the name of every singer, from the oldest to the youngest.', ['SELECT name FROM singer ORDER BY age DESC']],
  ['Open the door to the kitchen and go there', ['open door', 'go kitchen']],
  ['Take the cookbook.', ['take cookbook']],
  [
    'Post the tweet "Good morning to all of you in this town".',
    ["post_tweet(content='Good morning to all of you in this town')"],
  ],
  ['Count the songs', ['SHOW TABLES', '', 'SELECT COUNT(*) FROM song']],
  ['', ['']],
  ['Select the names', []],
])('the query %j states no action of %j', (query, actions) => {
  expect(statedAction(query, actions)).toBeUndefined();
});
