/** Small dataset for supervised fine-tuning: with batches of 10 it has two updates per epoch. */
export const twentyLines = Array.from({ length: 20 }, (_, n) =>
  JSON.stringify({
    trajectory_id: `t${n}`,
    messages: [
      { role: 'user', content: `How many rows has table ${n}?` },
      { role: 'assistant', content: `SELECT COUNT(*) FROM table_${n}` },
    ],
  }),
);
