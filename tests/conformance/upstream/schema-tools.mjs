// Tools whose schemas must reach the client letter for letter. The schemas are written by hand, since a schema
// library would not emit these keywords.
import { fromJsonSchema } from '@modelcontextprotocol/server';
import { textResult } from './samples.mjs';

const EVERY_KEYWORD = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

const MIRRORED_PARAMETER = {
  type: 'object',
  properties: {
    region: { type: 'string', description: 'travels as Mcp-Param-Region too', 'x-mcp-header': 'Region' },
    level: { type: 'integer', description: 'travels in the body only' },
  },
};

export function addSchemaTools(server) {
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Has a schema with the keywords of JSON Schema 2020-12',
      inputSchema: fromJsonSchema(EVERY_KEYWORD),
    },
    async (args) => textResult(`called with ${JSON.stringify(args)}`),
  );
  server.registerTool(
    'test_x_mcp_header',
    { description: 'Has a parameter that is mirrored into a header', inputSchema: fromJsonSchema(MIRRORED_PARAMETER) },
    async ({ region }) => textResult(`region=${region ?? '<none>'}`),
  );
}
