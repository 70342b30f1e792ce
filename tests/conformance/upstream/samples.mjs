// The smallest valid media files, and the answers built from them.

/** A red PNG of one pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** A WAV file with one sample. */
export const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

/** A tool result with one text block. */
export const textResult = (text) => ({ content: [{ type: 'text', text }] });

/** A prompt message of the user. */
export const userMessage = (content) => ({ role: 'user', content });

/** The schema of a form with one required field. */
export const formWith = (field, type) => ({
  type: 'object',
  properties: { [field]: { type } },
  required: [field],
});
