const { existsSync, readFileSync } = require('node:fs');

/** Returns parent and start of a process, and the ticks of processor time of it and of its children that ended. */
function readStat(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), ticks, start: fields[19] };
}

/** Returns the ticks of this process; 0 where there is no /proc. */
const ownTicks = () => (existsSync('/proc') ? readStat('self').ticks : 0);

module.exports = { ownTicks, readStat };
