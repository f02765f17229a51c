import { addKeys } from './keys';
import { followCampaigns } from './live';

// Adds keys to a page, and content that follows its campaign. Without it links, forms and reloads work as well.
addKeys(document);
const { seconds, stream } = (document.currentScript as HTMLScriptElement).dataset;
if (seconds !== undefined && stream !== undefined) followCampaigns(Number(seconds), stream);
