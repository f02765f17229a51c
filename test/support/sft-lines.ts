/** A small dataset of supervised fine-tuning: in batches of 10, two updates an epoch. */
export const twentyLines = Array.from({ length: 20 }, (_, n) =>
  JSON.stringify({
    trajectory_id: `t${n}`,
    messages: [
      { role: 'user', content: `How many rows has table ${n}?` },
      { role: 'assistant', content: `SELECT COUNT(*) FROM table_${n}` },
    ],
  }),
);
