import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/**
 * Sends three heartbeats per heartbeat timeout for every activity that has one, so that a killed worker is detected after
 * the timeout in any activity. Each heartbeat contains the latest value of every detail, so an automatic heartbeat keeps
 * the details of the activity and of its earlier retries.
 */
export const autoHeartbeat: ActivityInterceptorsFactory = (context) => ({
  inbound: {
    async execute(input, next) {
      const { heartbeatTimeoutMs, heartbeatDetails } = context.info;
      if (!heartbeatTimeoutMs) return next(input);
      let details: object | undefined = heartbeatDetails;
      const send = context.heartbeat;
      Object.assign(context, {
        heartbeat: (changed?: object) => send((details = changed ? { ...details, ...changed } : details)),
      });
      const timer = setInterval(() => send(details), heartbeatTimeoutMs / 3);
      try {
        return await next(input);
      } finally {
        clearInterval(timer);
      }
    },
  },
});
