// Tools that answer at once, one for each kind of content.
import { PNG, WAV, textResult } from './samples.mjs';

export function addContentTools(server) {
  const answer = (name, description, content) => server.registerTool(name, { description }, async () => ({ content }));

  answer('test_simple_text', 'Answers with one text block', [
    { type: 'text', text: 'This is a simple text response for testing.' },
  ]);
  answer('test_image_content', 'Answers with an image', [{ type: 'image', data: PNG, mimeType: 'image/png' }]);
  answer('test_audio_content', 'Answers with a sound', [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }]);
  answer('test_embedded_resource', 'Answers with an embedded resource', [
    {
      type: 'resource',
      resource: {
        uri: 'test://embedded-resource',
        mimeType: 'text/plain',
        text: 'This is an embedded resource content.',
      },
    },
  ]);
  answer('test_multiple_content_types', 'Answers with text, an image and a resource', [
    { type: 'text', text: 'Multiple content types test:' },
    { type: 'image', data: PNG, mimeType: 'image/png' },
    {
      type: 'resource',
      resource: {
        uri: 'test://mixed-content-resource',
        mimeType: 'application/json',
        text: JSON.stringify({ test: 'data', value: 123 }),
      },
    },
  ]);

  server.registerTool('test_error_handling', { description: 'Always fails' }, async () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool(
    'test_streaming_elicitation',
    { description: 'Answers without sending any request of its own' },
    async () => textResult('no request of the server travelled on this stream'),
  );
}
